import { Type } from 'typebox';
import { nodestat } from '../../commands/nodestat.ts';
import { type Endpoint, endpoint, type Input } from '../endpoint.ts';

const range = 'noderange';
const target = ({ params }: Input) => ({ range: params['noderange']!, refuseEmpty: true }) as const;
const asksPower = ({ body }: Input): boolean => body['power'] === 'yes';

export const nodeState: Endpoint[] = [
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/nodestat',
    command: nodestat,
    reply: 'attributes',
    args: target,
    line: () => [],
    range,
    summary: 'What nodes look like from outside: the services that answer, ping with the boot state, or noping.',
    example: { path: '/nodes/n1/nodestat', reply: { n1: { nodestat: 'noping' } } },
  }),
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/nodestat',
    command: nodestat,
    reply: 'attributes',
    body: Type.Object(
      { power: Type.Optional(Type.Union([Type.Literal('yes'), Type.Literal('no')])) },
      { additionalProperties: false },
    ),
    args: (input) => ({ ...target(input), update: true, power: asksPower(input) }),
    line: (input) => ['-u', ...(asksPower(input) ? ['-p'] : [])],
    range,
    summary: 'Looks at nodes as GET does and writes what was seen to status and appstatus.',
    description:
      'With {"power":"yes"} the hardware of nodes that do not answer is asked for their power state: noping(off).',
    example: { path: '/nodes/n1/nodestat', body: { power: 'yes' }, reply: { n1: { nodestat: 'noping(off)' } } },
    only: '/muster',
  }),
];
