import { Type } from 'typebox';
import {
  delEntries,
  getAttribs,
  getTablesAllNodeAttribs,
  getTablesAllRowAttribs,
  getTablesNodesAttribs,
  setAttribs,
  setNodesAttribs,
} from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { type Row, tableNamed } from '../../database/tables.ts';
import { valueText } from '../definition-body.ts';
import { anyMembers, endpoint, type Endpoint, type Input } from '../endpoint.ts';
import { atMoment, splitList } from './definitions.ts';

const tableList = ({ params }: Input): string[] => splitList(params['tablelist']!);

function oneTable(input: Input): string {
  const [table, ...more] = tableList(input);
  if (table === undefined || more.length > 0)
    throw new Fault('malformed', 'Row keys go with exactly one table; name one in the path.');
  return table;
}

/** What every reading of nodes' rows takes. */
const readingOf = (input: Input) => ({
  tables: tableList(input),
  columns: columnsOf(input),
  hidden: input.root.showsHiddenMembers,
});

const columnsOf = ({ params }: Input): string[] | undefined =>
  params['attrlist'] === undefined ? undefined : splitList(params['attrlist']);

const rowValues = (body: object): Row =>
  Object.fromEntries(Object.entries(body).map(([column, value]) => [column, valueText(column, value)]));

function nodeValues(input: Input): Record<string, Row> {
  const { body } = input;
  if (Object.keys(body).length === 0)
    throw new Fault('missing-member', 'Give the columns to set by table, for example {"nodetype":{"arch":"x86_64"}}.');
  const listed = tableList(input);
  const values: Record<string, Row> = {};
  for (const [table, columns] of Object.entries(body)) {
    if (!listed.includes(table))
      throw new Fault('malformed', `The body sets table "${table}", which the path does not name.`);
    if (columns === null || typeof columns !== 'object' || Array.isArray(columns)) {
      throw new Fault(
        'malformed',
        `"${table}": give an object of columns, for example {"${table}":{"comments":"text"}}.`,
      );
    }
    // An unknown table is refused here already, so that no name can be mistaken for anything else.
    values[tableNamed(table).name] = rowValues(columns);
  }
  return values;
}

const columnsBody = anyMembers('column: value');
const rowsExample = { routes: [{ routename: 'lab', net: '10.9.0.0', mask: '255.255.0.0', gateway: '10.1.0.254' }] };

/** The two forms of a reading, with all columns and with chosen ones. */
const rowsReply = anyMembers(
  'tables, each with its rows',
  Type.Array(anyMembers('columns that are set', Type.String())),
);

const withColumns = (path: string): string[] => [path, `${path}/{attrlist}`];

export const tables: Endpoint[] = [
  ...withColumns('/tables/{tablelist}/nodes/ALLNODES').map((path) =>
    endpoint(`GET ${path}`, {
      command: getTablesAllNodeAttribs,
      reply: 'object',
      returns: rowsReply,
      query: atMoment,
      args: readingOf,
      summary: 'Rows of all nodes that have any, as they are in effect.',
      example: {
        path: path.replace('{tablelist}', 'nodetype').replace('{attrlist}', 'arch'),
        reply: { nodetype: [{ name: 'n1', arch: 'x86_64' }] },
      },
    }),
  ),
  ...withColumns('/tables/{tablelist}/nodes/{noderange}').map((path) =>
    endpoint(`GET ${path}`, {
      command: getTablesNodesAttribs,
      reply: 'object',
      returns: rowsReply,
      query: atMoment,
      args: (input) => ({ ...readingOf(input), range: input.params['noderange']! }),
      summary: 'Rows of nodes as they are in effect, with what the groups give.',
      example: {
        path: path.replace('{tablelist}', 'nodetype').replace('{noderange}', 'n1').replace('{attrlist}', 'arch'),
        reply: { nodetype: [{ name: 'n1', arch: 'x86_64' }] },
      },
    }),
  ),
  endpoint('PUT /tables/{tablelist}/nodes/{noderange}', {
    command: setNodesAttribs,
    body: anyMembers('table: columns', columnsBody),
    args: (input) => ({ range: input.params['noderange']!, tables: nodeValues(input) }),
    summary: 'Set columns of nodes; an empty value hides what the groups give.',
    example: {
      path: '/tables/nodetype,noderes/nodes/n1',
      body: { nodetype: { arch: 'x86_64' }, noderes: { netboot: 'xnba' } },
    },
  }),
  ...[...withColumns('/tables/{tablelist}/rows/ALLROWS'), '/tables/{tablelist}/rows'].map((path) =>
    endpoint(`GET ${path}`, {
      command: getTablesAllRowAttribs,
      reply: 'object',
      returns: rowsReply,
      query: atMoment,
      args: (input) => ({ tables: tableList(input), columns: columnsOf(input) }),
      summary: 'All rows of tables as they are stored.',
      example: {
        path: path.replace('{tablelist}', 'routes').replace('{attrlist}', 'routename,net,mask,gateway'),
        reply: rowsExample,
      },
    }),
  ),
  ...withColumns('/tables/{tablelist}/rows/{keys}').map((path) =>
    endpoint(`GET ${path}`, {
      command: getAttribs,
      reply: 'object',
      returns: rowsReply,
      query: atMoment,
      args: (input) => ({ table: oneTable(input), keys: input.params['keys']!, columns: columnsOf(input) }),
      summary: 'The rows of a table that have the given values.',
      example: {
        path: path
          .replace('{tablelist}', 'routes')
          .replace('{keys}', 'routename=lab')
          .replace('{attrlist}', 'routename,net,mask,gateway'),
        reply: rowsExample,
      },
    }),
  ),
  endpoint('PUT /tables/{tablelist}/rows/{keys}', {
    command: setAttribs,
    body: columnsBody,
    args: (input) => ({ table: oneTable(input), keys: input.params['keys']!, columns: rowValues(input.body) }),
    summary: 'Change the rows that have the given values, or make one.',
    example: {
      path: '/tables/routes/rows/routename=lab',
      body: { net: '10.9.0.0', mask: '255.255.0.0', gateway: '10.1.0.254' },
    },
  }),
  endpoint('DELETE /tables/{tablelist}/rows/{keys}', {
    command: delEntries,
    args: (input) => ({ table: oneTable(input), keys: input.params['keys']! }),
    summary: 'Remove the rows that have the given values.',
    example: { path: '/tables/routes/rows/routename=lab' },
  }),
];
