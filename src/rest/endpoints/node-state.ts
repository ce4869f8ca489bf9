import { Type } from 'typebox';
import { nodestat } from '../../commands/nodestat.ts';
import { type Endpoint, endpoint, type Input } from '../endpoint.ts';

const range = 'noderange';
const target = ({ params }: Input) => ({ range: params['noderange']!, refuseEmpty: true }) as const;
const choice = (description: string) => Type.Optional(Type.Enum(['yes', 'no'], { description }));
const wishes = ({ body }: Input) => ({
  update: body['update'] !== 'no',
  power: body['power'] === 'yes',
  monitored: body['usemon'] === 'yes',
});

export const nodeState: Endpoint[] = [
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/nodestat',
    command: nodestat,
    reply: 'attributes',
    args: target,
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
      {
        update: choice('no: nothing is written'),
        power: choice('yes: the hardware of nodes that do not answer is asked for their power state'),
        usemon: choice('yes: looks for the applications that table monsetting names'),
      },
      { additionalProperties: false },
    ),
    args: (input) => ({ ...target(input), ...wishes(input) }),
    range,
    summary: 'Looks at nodes as GET does and writes what was seen to status and appstatus.',
    description:
      'With {"power":"yes"} nodes that do not answer show their power state: noping(off). With {"usemon":"yes"} the applications are those that the row xcatmon, apps of table monsetting lists, and sshd; the row xcatmon, <application> may give port=<number> and group=<group>, several joined by commas. Without port the usual port of that name is meant. Commands (cmd, lcmd, dcmd) are refused. {"update":"no"} writes nothing.',
    example: { path: '/nodes/n1/nodestat', body: { power: 'yes' }, reply: { n1: { nodestat: 'noping(off)' } } },
    only: '/muster',
  }),
];
