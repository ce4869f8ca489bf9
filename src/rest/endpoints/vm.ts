import { Type } from 'typebox';
import { chvm, mkvm, rmvm } from '../../commands/index.ts';
import { valueText } from '../definition-body.ts';
import { type Endpoint, endpoint, type Input, members, nodesOf } from '../endpoint.ts';

const yes = (description: string) => Type.Optional(Type.Enum(['yes', 'no'], { description }));
const size = (description: string) => Type.Optional(Type.Union([Type.String(), Type.Number()], { description }));
const isYes = ({ body }: Input, member: string): boolean => body[member] === 'yes';

/** A number or a text, as clients send sizes. */
function sizeIn({ body }: Input, member: string): string | undefined {
  const value = body[member];
  return value === undefined || value === '' ? undefined : valueText(member, value);
}

const listIn = (input: Input, member: string): readonly string[] =>
  (sizeIn(input, member) ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

export const vm: Endpoint[] = [
  endpoint('POST /nodes/{noderange}/vm', {
    command: mkvm,
    body: members({
      cpucount: size('processors; default: the attribute vmcpus, else 1'),
      memorysize: size('megabytes, or with unit such as 4G; default: the attribute vmmemory, else 512'),
      disksize: size('disks to make: gigabytes, or with unit, several joined by commas'),
      force: yes('yes: disks that are in the way are replaced'),
    }),
    args: (input) => ({
      ...nodesOf(input),
      cpus: sizeIn(input, 'cpucount'),
      memory: sizeIn(input, 'memorysize'),
      disks: [...listIn(input, 'disksize')],
      force: isYes(input, 'force'),
    }),
    summary: 'Create the virtual machines of nodes.',
    description:
      'As their attributes vmhost, vmcpus, vmmemory, vmstorage, vmstoragemodel, vmstorageformat, vmstoragecache, vmnics, vmnicnicmodel, vmbootorder, vmothersetting, arch and mac say. They are defined and stay off. UUID and MAC addresses that are missing are made and kept. What fails leaves nothing behind.',
    example: { body: { cpucount: '2', memorysize: '4096', disksize: '10,20' } },
  }),
  endpoint('PUT /nodes/{noderange}/vm', {
    command: chvm,
    body: members({
      cpucount: size('processors'),
      memorysize: size('megabytes, or with unit such as 4G'),
      adddisk: size('disks to make: gigabytes, or with unit, several joined by commas'),
      purgedisk: size('disks to delete by the names of their devices, such as vdb, several joined by commas'),
      resizedisk: size('disks to grow: their devices with their new sizes, such as vdb=20, several joined by commas'),
      force: yes('yes: disks in the way of new ones are replaced, and disks that were not made for the node deleted'),
    }),
    args: (input) => ({
      ...nodesOf(input),
      cpus: sizeIn(input, 'cpucount'),
      memory: sizeIn(input, 'memorysize'),
      add: [...listIn(input, 'adddisk')],
      purge: [...listIn(input, 'purgedisk')],
      resize: [...listIn(input, 'resizedisk')],
      force: isYes(input, 'force'),
    }),
    summary: 'Change the virtual machines of nodes.',
    description:
      'All of it or nothing. Machines that run are changed as they run, as far as they and their guests allow: memory up to the size they were started with, processors up to the number they were started with room for, disks unless their model is ide or sata. The attributes vmcpus and vmmemory follow where they are set, and vmstorage where it names a disk that was deleted.',
    example: { body: { memorysize: '2048', adddisk: '10' } },
  }),
  endpoint('DELETE /nodes/{noderange}/vm', {
    command: rmvm,
    body: members({
      purge: yes('yes: their disks are deleted too'),
      force: yes('yes: also those that run, and those that muster has not made'),
    }),
    args: (input) => ({ ...nodesOf(input), purge: isYes(input, 'purge'), force: isYes(input, 'force') }),
    summary: 'Remove the virtual machines of nodes. The nodes stay.',
    example: { body: { purge: 'yes' } },
  }),
];
