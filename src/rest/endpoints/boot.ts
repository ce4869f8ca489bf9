import { Type } from 'typebox';
import { nodeset } from '../../commands/index.ts';
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
