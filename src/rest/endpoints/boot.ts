import { Type } from 'typebox';
import { lsboot, nodeset } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { type Endpoint, endpoint, type Input, members, nodesOf } from '../endpoint.ts';

function stateOf({ body }: Input): string {
  const { osimage, state } = body as { osimage?: string; state?: string };
  if (osimage !== undefined && state !== undefined)
    throw new Fault('malformed', 'Give either "osimage" or "state", not both.');
  if (osimage !== undefined) return `osimage=${osimage}`;
  if (state === undefined || state === '')
    throw new Fault('missing-member', 'The body lacks the member "osimage" or "state".');
  return state;
}

export const boot: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/bootstate', {
    command: nodeset,
    reply: 'attributes',
    args: ({ root, params }) => ({
      range: params['noderange']!,
      ...(root.strict ? {} : { members: ['bootstat', 'bootstate'] }),
    }),
    summary: 'What nodes do when they boot from the network.',
    example: { reply: { n1: { bootstat: 'boot' } } },
  }),
  endpoint('GET /nodes/{noderange}/boot', {
    command: lsboot,
    reply: 'attributes',
    args: ({ params }) => ({ range: params['noderange']! }),
    summary: 'Where nodes are in their boot: what they have fetched and told, when, and why one does not go on.',
    example: {
      reply: {
        n1: {
          bootstate: 'netboot debian12-x86_64-compute',
          status: 'netbooting',
          began: '2026-11-16T09:05:00.000Z',
          step: 'initrd',
          since: '2026-11-16T09:05:04.000Z',
          lastline: '',
          steps: [
            '2026-11-16T09:05:00.000Z tftp loader undionly.kpxe (70000 bytes)',
            '2026-11-16T09:05:03.000Z http script boot/52-54-00-00-00-01.ipxe (500 bytes)',
            '2026-11-16T09:05:03.500Z http kernel boot/images/deb/0123456789abcdef/kernel (8000000 bytes)',
            '2026-11-16T09:05:04.000Z http initrd boot/images/deb/0123456789abcdef/initrd (9000000 bytes)',
          ],
          why: 'It fetched kernel and initial RAM disk 90 seconds ago. Nothing was heard since: the kernel does not start, or it has no driver for the network card.',
        },
      },
    },
  }),
  endpoint('PUT /nodes/{noderange}/bootstate', {
    command: nodeset,
    body: members({
      osimage: Type.Optional(Type.String({ description: 'the name of an image' })),
      state: Type.Optional(
        Type.String({
          description: 'boot, shell, standby, offline, shutdown, runcmd=COMMAND, runimage=URL, osimage[=NAME], next',
        }),
      ),
    }),
    args: (input) => ({ ...nodesOf(input), state: stateOf(input) }),
    summary: 'Choose what nodes do when they boot from the network.',
    description:
      'A node that cannot be brought to the state fails alone. States behind commas follow one another: what is left is kept, and next takes it.',
    example: { body: { state: 'boot' } },
  }),
];
