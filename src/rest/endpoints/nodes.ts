import { Type } from 'typebox';
import { chdef } from '../../commands/chdef.ts';
import { lsdef } from '../../commands/lsdef.ts';
import { nodels } from '../../commands/nodels.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { shownRange } from '../../objects/shown-arguments.ts';
import { definitionRows } from './definitions.ts';

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
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/nodels',
    command: nodels,
    reply: 'list',
    args: ({ params }) => ({ range: params['noderange']! }),
    line: () => [],
    range: 'noderange',
    summary: 'The names a node range selects.',
    example: { path: '/nodes/compute/nodels', reply: ['n1', 'n2'] },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/explain/{attribute}',
    command: lsdef,
    reply: 'attributes',
    args: ({ params, root }) => ({
      type: 'node',
      names: params['noderange']!,
      explain: params['attribute']!,
      refuseEmpty: root.refusesEmptyRanges,
    }),
    line: ({ params }) => ['-t', 'node', '-o', shownRange(params['noderange']!), '-i', params['attribute']!],
    range: 'noderange',
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
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/rename',
    command: chdef,
    reply: 'none',
    body: Type.Object({ newNode: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
    args: ({ params, body }) => ({ type: 'node', names: params['noderange']!, rename: body['newNode'] as string }),
    line: ({ params, body }) => [
      '-t',
      'node',
      '-o',
      shownRange(params['noderange']!),
      '-n',
      shownRange(String(body['newNode'])),
    ],
    range: 'noderange',
    summary: 'Give a node another name.',
    description: 'The name changes in every table; mentions of the node in other rows stay as they are.',
    example: { path: '/nodes/n1/rename', body: { newNode: 'node1' } },
  }),
];
