import { Type } from 'typebox';
import {
  delEntries,
  getAttribs,
  getTablesAllNodeAttribs,
  getTablesAllRowAttribs,
  getTablesNodesAttribs,
  setAttribs,
  setNodesAttribs,
  tabdump,
  tabrestore,
} from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { type Row, tableNamed } from '../../database/tables.ts';
import { valueText } from './definition-body.ts';
import { atMoment, splitList } from './definitions.ts';
import { anyMembers, endpoint, type Endpoint, type Input } from './endpoint.ts';

const row = anyMembers('columns that have a value', Type.String());
const rows = Type.Array(row);
const columnNames = Type.Array(Type.String());
const dump = Type.Object({ columns: columnNames, keys: columnNames, rows });
const routes = [{ routename: 'lab', net: '10.9.0.0', mask: '255.255.0.0', gateway: '10.1.0.254' }];

/** The rows of the tables that the path names. */
function rowsGiven({ params, body }: Input): Record<string, Row[]> {
  const names = splitList(params['tablelist']!);
  const given = Object.entries(body as Record<string, readonly Row[]>);
  const strange = given.find(([table]) => !names.includes(table))?.[0] ?? names.find((name) => !(name in body));
  if (strange !== undefined)
    throw new Fault('malformed', `The body must have the tables of the path, each with its rows; see "${strange}".`);
  return Object.fromEntries(given.map(([table, list]) => [table, list.map(textRow)]));
}

const textRow = (given: Row): Row =>
  Object.fromEntries(Object.entries(given).map(([column, value]) => [column, valueText(column, value)]));

/** Tables as a whole. */
export const dumps: Endpoint[] = [
  endpoint('GET /tables', {
    command: tabdump,
    reply: 'list',
    summary: 'The names of all tables.',
    example: { reply: ['auditlog', 'bootparams', 'boottarget'] },
    only: '/muster',
  }),
  endpoint('GET /tables/{tablelist}/dump', {
    command: tabdump,
    reply: 'object',
    returns: anyMembers('tables', dump),
    args: ({ params }) => ({ tables: splitList(params['tablelist']!) }),
    summary:
      'Tables as they are stored: their columns in order and all rows in the order in which they were stored, those that are disabled too.',
    example: {
      path: '/tables/routes/dump',
      reply: {
        routes: {
          columns: ['routename', 'net', 'mask', 'gateway', 'ifname', 'comments', 'disable'],
          keys: ['routename'],
          rows: routes,
        },
      },
    },
    only: '/muster',
  }),
  endpoint('PUT /tables/{tablelist}/dump', {
    command: tabrestore,
    body: anyMembers('tables, each with all its rows', rows),
    query: { add: '1: the rows are added to those that are there' },
    args: (input) => ({ tables: rowsGiven(input), add: input.query['add'] === '1' }),
    summary: 'Replace all rows of tables, or add some: all or nothing.',
    description: 'A secret that is given as ******** stays what it is. If-Match takes the ETag of the GET.',
    example: { path: '/tables/routes/dump', body: { routes } },
    bulk: true,
    only: '/muster',
  }),
];

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
