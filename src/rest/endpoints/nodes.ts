import { Type } from 'typebox';
import { chdef, lsdef, nodels, nodestat } from '../../commands/index.ts';
import { endpoint, type Endpoint, type Input, members, nodesOf } from './endpoint.ts';
import { atMoment, definitionRows } from './definitions.ts';

export const nodes: Endpoint[] = [
  ...definitionRows({
    type: 'node',
    collection: 'nodes',
    segment: 'noderange',
    plural: 'nodes',
    name: 'n1',
    example: { arch: 'x86_64', bmc: '127.10.0.1', groups: 'all,compute', mgt: 'ipmi' },
    newName: 'n2',
    newExample: { groups: 'all,compute', mgt: 'ipmi', bmc: '127.10.0.2' },
    changeExample: { arch: 'x86_64', bmc: '127.10.0.11' },
  }),
  endpoint('GET /nodes/{noderange}/nodels', {
    command: nodels,
    reply: 'list',
    query: { hidden: '1: hidden nodes of groups too', ...atMoment },
    args: ({ params, query }) => ({ range: params['noderange']!, hidden: query['hidden'] === '1' }),
    summary: 'The names a node range selects.',
    example: { path: '/nodes/compute/nodels', reply: ['n1', 'n2'] },
  }),
  endpoint('GET /nodes/{noderange}/explain/{attribute}', {
    command: lsdef,
    reply: 'attributes',
    query: atMoment,
    args: ({ params, root }) => ({
      type: 'node',
      names: params['noderange']!,
      explain: params['attribute']!,
      refuseEmpty: root.refusesEmptyRanges,
    }),
    summary: 'Where an attribute comes from: the node, a group or a default, and by which pattern.',
    example: {
      path: '/nodes/n1/explain/bmc',
      reply: {
        n1: {
          value: '10.1.0.1',
          source: 'group',
          row: 'compute',
          table: 'ipmi',
          column: 'bmc',
          stored: '|10.1.0.($1)|',
          pattern: '|10.1.0.($1)|',
        },
      },
    },
  }),
  endpoint('PUT /nodes/{noderange}/rename', {
    command: chdef,
    body: members({ newNode: Type.String({ minLength: 1 }) }),
    args: ({ params, body }) => ({ type: 'node', names: params['noderange']!, rename: body['newNode'] as string }),
    summary: 'Give a node another name.',
    description: 'The name changes in every table; mentions of the node in other rows stay as they are.',
    example: { body: { newNode: 'node1' } },
  }),
];

const choice = (description: string) => Type.Optional(Type.Enum(['yes', 'no'], { description }));
const choices = ({ body }: Input) => ({
  update: body['update'] !== 'no',
  power: body['power'] === 'yes',
  monitored: body['usemon'] === 'yes',
});

export const nodeState: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/nodestat', {
    command: nodestat,
    reply: 'attributes',
    args: nodesOf,
    summary: 'What nodes look like from outside: the services that answer, ping with the boot state, or noping.',
    example: { reply: { n1: { nodestat: 'noping' } } },
  }),
  endpoint('PUT /nodes/{noderange}/nodestat', {
    command: nodestat,
    reply: 'attributes',
    body: members({
      update: choice('no: nothing is written'),
      power: choice('yes: the hardware of nodes that do not answer is asked for their power state'),
      usemon: choice('yes: looks for the applications that table monsetting names'),
    }),
    args: (input) => ({ ...nodesOf(input), ...choices(input) }),
    summary: 'Looks at nodes as GET does and writes what was seen to status and appstatus.',
    description:
      'With {"power":"yes"} nodes that do not answer show their power state: noping(off). With {"usemon":"yes"} the applications are those that the row xcatmon, apps of table monsetting lists, and sshd; the row xcatmon, <application> may give port=<number> and group=<group>, several joined by commas. Without port the usual port of that name is meant. Commands (cmd, lcmd, dcmd) are refused. {"update":"no"} writes nothing.',
    example: { body: { power: 'yes' }, reply: { n1: { nodestat: 'noping(off)' } } },
    only: '/muster',
  }),
];
