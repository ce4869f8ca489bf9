import { Type } from 'typebox';
import { chvm, clonevm, mkvm, rmigrate, rmvm, snapvm } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { machineOptions } from '../../core/machine-options.ts';
import { type Endpoint, endpoint, type Input, members, nodesOf } from './endpoint.ts';
import { optionMembers, optionsIn } from './options.ts';

const { mkvm: making, chvm: changing, rmvm: removing, clonevm: cloning, rmigrate: moving } = machineOptions;

interface Cloning {
  readonly tomaster: string | undefined;
  readonly frommaster: string | undefined;
  readonly detach: boolean;
}

function checkMaster({ tomaster, frommaster, detach }: Cloning): void {
  if (tomaster !== undefined && frommaster !== undefined)
    throw new Fault('malformed', 'Give either "tomaster" or "frommaster", not both.');
  if (tomaster === undefined && frommaster === undefined)
    throw new Fault('missing-operation-data', 'The body lacks the member "tomaster" or "frommaster".');
  if (tomaster !== undefined && detach)
    throw new Fault('malformed', 'Give "detach" only with "frommaster": the disks of a master are always full copies.');
}

function neededName({ body }: Input): string {
  const { name } = body as { readonly name?: string };
  if (name === undefined || name === '') throw new Fault('missing-member', 'The body lacks the member "name".');
  return name;
}

function revertIn({ body }: Input): 'revert' {
  const { action } = body as { readonly action?: string };
  if (action === undefined) throw new Fault('missing-action', 'The body lacks the member "action".');
  if (action !== 'revert') throw new Fault('invalid', `"${action}" is no action on snapshots; known is revert.`);
  return action;
}

export const vm: Endpoint[] = [
  endpoint('POST /nodes/{noderange}/vm', {
    command: mkvm,
    body: optionMembers(making),
    args: (input) => ({ ...nodesOf(input), ...optionsIn(making, input) }),
    summary: 'Create the virtual machines of nodes.',
    description:
      'As their attributes vmhost, vmcpus, vmmemory, vmstorage, vmstoragemodel, vmstorageformat, vmstoragecache, vmnics, vmnicnicmodel, vmbootorder, vmothersetting, arch and mac say. They are defined and stay off. UUID and MAC addresses that are missing are made and kept. What fails leaves nothing behind.',
    example: { body: { cpucount: '2', memorysize: '4096', disksize: '10,20' } },
  }),
  endpoint('PUT /nodes/{noderange}/vm', {
    command: chvm,
    body: optionMembers(changing),
    args: (input) => ({ ...nodesOf(input), ...optionsIn(changing, input) }),
    summary: 'Change the virtual machines of nodes.',
    description:
      'All of it or nothing. Machines that run are changed as they run, as far as they and their guests allow: memory up to the size they were started with, processors up to the most that they were started with, disks unless their model is ide or sata. The attributes vmcpus and vmmemory follow where they are set, and vmstorage where it names a disk that was deleted.',
    example: { body: { memorysize: '2048', adddisk: '10' } },
  }),
  endpoint('DELETE /nodes/{noderange}/vm', {
    command: rmvm,
    body: optionMembers(removing),
    args: (input) => ({ ...nodesOf(input), ...optionsIn(removing, input) }),
    summary: 'Remove the virtual machines of nodes. The nodes stay.',
    example: { body: { purge: 'yes' } },
  }),
  endpoint('POST /nodes/{noderange}/vmclone', {
    command: clonevm,
    reply: 'attributes',
    body: optionMembers(cloning),
    args(input) {
      const given = optionsIn(cloning, input);
      checkMaster(given);
      return { ...nodesOf(input), ...given };
    },
    summary: 'Make a master of a virtual machine, or virtual machines from a master.',
    description:
      'A master is a whole copy of the disks of a machine, which stays as it is; tables vmmaster and kvm_masterdata keep what it is. Machines made from it are defined as their attributes say and stay off; where these say nothing of processors and memory, they have those of the machine that the master was made of. A master may be used by the account that made it, by a rule without a noderange, and by one whose parameters name it.',
    example: {
      body: { tomaster: 'gold' },
      reply: { n1: { vmclone: 'Cloning of n1.hda.qcow2 complete (clone uses 2 MB for a disk size of 8 MB)' } },
    },
  }),
  endpoint('POST /nodes/{noderange}/vmmigrate', {
    command: rmigrate,
    reply: 'attributes',
    body: optionMembers(moving),
    args: (input) => ({ ...nodesOf(input), ...optionsIn(moving, input) }),
    summary: 'Move virtual machines to another hypervisor.',
    description:
      'As they run, if they do. Disks in directories that both hypervisors share stay there; others are copied, and deleted where they were. The attribute vmhost changes when the machine is there; whatever fails leaves it where it was. The run shows how far it is. The right is needed on the machines and on the hypervisor; for a target that is no node, by a rule without a noderange.',
    example: { body: { target: 'hv2' }, reply: { n1: { vmmigrate: 'migrated to hv2' } } },
  }),
  endpoint('GET /nodes/{noderange}/snapshots', {
    command: snapvm,
    reply: 'attributes',
    only: '/muster',
    args: (input) => ({ range: nodesOf(input).range, action: 'list' as const }),
    summary: 'The snapshots of virtual machines, oldest first.',
    example: { reply: { n1: { snapshots: ['before-update'] } } },
  }),
  endpoint('POST /nodes/{noderange}/snapshots', {
    command: snapvm,
    only: '/muster',
    body: members({
      name: Type.Optional(
        Type.String({ description: 'letters, digits, and . _ - after the first; unique for each machine' }),
      ),
      description: Type.Optional(Type.String({ description: 'what it is for' })),
    }),
    args: (input) => ({
      ...nodesOf(input),
      action: 'create' as const,
      name: neededName(input),
      description: input.body['description'] as string | undefined,
    }),
    summary: 'Take snapshots of virtual machines.',
    description:
      'Of their disks and, of those that run, of their memory: they pause meanwhile. Their disks have to be qcow2, which holds the snapshots.',
    example: { body: { name: 'before-update', description: 'all tests pass' } },
  }),
  endpoint('DELETE /nodes/{noderange}/snapshots', {
    command: snapvm,
    only: '/muster',
    args: (input) => ({ ...nodesOf(input), action: 'clear' as const }),
    summary: 'Delete all snapshots of virtual machines, which stay as they are.',
  }),
  endpoint('GET /nodes/{noderange}/snapshots/{snapshot}', {
    command: snapvm,
    reply: 'attributes',
    only: '/muster',
    args: (input) => ({ range: nodesOf(input).range, action: 'show' as const, name: input.params['snapshot']! }),
    summary: 'A snapshot of virtual machines.',
    example: {
      path: '/nodes/n1/snapshots/before-update',
      reply: { n1: { created: '2026-11-15T09:05:00.000Z', power: 'on', description: 'all tests pass' } },
    },
  }),
  endpoint('PUT /nodes/{noderange}/snapshots/{snapshot}', {
    command: snapvm,
    only: '/muster',
    body: members({ action: Type.Optional(Type.String({ description: 'revert' })) }),
    args: (input) => ({ ...nodesOf(input), action: revertIn(input), name: input.params['snapshot']! }),
    summary: 'Return virtual machines to a snapshot.',
    description: 'What has changed since is lost. A machine runs afterwards if it ran then.',
    example: { path: '/nodes/n1/snapshots/before-update', body: { action: 'revert' } },
  }),
  endpoint('DELETE /nodes/{noderange}/snapshots/{snapshot}', {
    command: snapvm,
    only: '/muster',
    args: (input) => ({ ...nodesOf(input), action: 'delete' as const, name: input.params['snapshot']! }),
    summary: 'Delete a snapshot of virtual machines, which stay as they are.',
    example: { path: '/nodes/n1/snapshots/before-update' },
  }),
];
