import { Type } from 'typebox';
import { nodeset } from '../../commands/nodeset.ts';
import { Fault } from '../../core/errors.ts';
import { type Endpoint, endpoint, type Input } from '../endpoint.ts';

const path = '/nodes/{noderange}/bootstate';
const range = 'noderange';

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
  endpoint({
    method: 'GET',
    path,
    command: nodeset,
    reply: 'attributes',
    args: ({ root, params }) => ({
      range: params[range]!,
      ...(root.strict ? {} : { members: ['bootstat', 'bootstate'] }),
    }),
    range,
    summary: 'What nodes do when they boot from the network.',
    example: { path: '/nodes/n1/bootstate', reply: { n1: { bootstat: 'boot' } } },
  }),
  endpoint({
    method: 'PUT',
    path,
    command: nodeset,
    reply: 'none',
    body: Type.Object(
      {
        osimage: Type.Optional(Type.String({ description: 'the name of an image' })),
        state: Type.Optional(
          Type.String({
            description: 'boot, shell, standby, offline, shutdown, runcmd=COMMAND, runimage=URL, osimage[=NAME], next',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    args: (input) => ({ range: input.params[range]!, refuseEmpty: true, state: stateOf(input) }),
    range,
    summary: 'Choose what nodes do when they boot from the network.',
    description:
      'A node that cannot be brought to the state fails alone. States behind commas follow one another: what is left is kept, and next takes it.',
    example: { path: '/nodes/n1/bootstate', body: { osimage: 'img1' } },
  }),
];
