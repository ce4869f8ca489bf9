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
  tabprune,
  tabrestore,
  writeTableRows,
} from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { type Row, tableNamed } from '../../database/tables.ts';
import { type SecretForm, secretForms } from '../../objects/table-dump.ts';
import { valueText } from './definition-body.ts';
import { atMoment, splitList } from './definitions.ts';
import { anyMembers, endpoint, type Endpoint, type Input, members } from './endpoint.ts';

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
    query: {
      secrets:
        'sealed: show secrets so that only this server can read them again; clear: in clear text. Both need full rights. Without it they are ********',
    },
    args: ({ params, query }) => ({ tables: splitList(params['tablelist']!), secrets: secretFormOf(query['secrets']) }),
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
    query: {
      add: '1: the rows are added to those that are there',
      secrets:
        'leave: a secret that is hidden and not stored stays empty, and a note names it; otherwise it is an error',
    },
    args: (input) => ({
      tables: rowsGiven(input),
      add: input.query['add'] === '1',
      leaveOut: leavesOut(input.query['secrets']),
    }),
    summary: 'Replace all rows of tables, or add some: all or nothing.',
    description:
      'A secret that is given as ******** stays what it is; one that this server sealed in a dump is opened again, for accounts with full rights. If-Match takes the ETag of the GET.',
    example: { path: '/tables/routes/dump', body: { routes } },
    bulk: true,
    only: '/muster',
  }),
  endpoint('POST /tables/{log}/prune', {
    command: tabprune,
    reply: 'object',
    returns: Type.Object({
      removed: Type.Integer({ description: 'how many records were removed' }),
      columns: Type.Optional(columnNames),
      rows: Type.Optional(rows),
    }),
    body: members({
      all: Type.Optional(Type.Boolean({ description: 'all records' })),
      number: Type.Optional(Type.Integer({ minimum: 0, description: 'so many of the oldest records' })),
      percent: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'so many per cent, the oldest' })),
      recid: Type.Optional(Type.Integer({ minimum: 0, description: 'records with a smaller recid' })),
      days: Type.Optional(Type.Integer({ minimum: 0, description: 'records that are older than so many days' })),
      shows: Type.Optional(Type.Boolean({ description: 'the reply has the records, at most 100,000' })),
    }),
    args: ({ params, body }) => ({ table: params['log']!, ...body }),
    summary: 'Remove old records of the audit log or the event log.',
    description:
      'Needs a rule for tabprune, and with shows one for tabdump too. Records that say who removed what stay in the audit log. The site attribute logpruning forbids it (no).',
    example: { path: '/tables/eventlog/prune', body: { days: 90 }, reply: { removed: 0 } },
    only: '/muster',
  }),
];

function secretFormOf(text: string | undefined): SecretForm | undefined {
  if (text === undefined || (secretForms as readonly string[]).includes(text)) return text as SecretForm | undefined;
  throw new Fault('malformed', `secrets is one of ${secretForms.join(', ')}, not "${text}".`);
}

function leavesOut(text: string | undefined): boolean {
  if (text === undefined || text === 'leave') return text !== undefined;
  throw new Fault('malformed', `secrets is "leave" here, or absent; it is "${text}".`);
}

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

interface RowsBody {
  readonly set?: readonly { readonly keys: Row; readonly columns: Row }[];
  readonly remove?: readonly Row[];
  readonly since?: number;
}

const text = Type.String();
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
  endpoint('PUT /tables/{tablelist}/rows', {
    command: writeTableRows,
    body: members({
      set: Type.Optional(
        Type.Array(
          members({
            keys: anyMembers('the columns that name the row, all of them', text),
            columns: anyMembers('column: value; an empty value clears it'),
          }),
          { description: 'rows that are changed, or made if there are none' },
        ),
      ),
      remove: Type.Optional(
        Type.Array(anyMembers('the columns that name a row', text), { description: 'rows that go' }),
      ),
      since: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            'the revision in X-Muster-Revision when they were read: if one of these rows was changed since, it is named and nothing is done',
        }),
      ),
    }),
    args: (input) => {
      const { set = [], remove = [], since } = input.body as RowsBody;
      return {
        table: oneTable(input),
        set: set.map(({ keys, columns }) => ({ keys, columns: rowValues(columns) })),
        remove: [...remove],
        since,
      };
    },
    summary: 'Change, make and remove rows of a table in one change.',
    description:
      'Either everything is written or nothing. Columns that are not given stay as they are. A secret that is given as ******** stays what it is. Rows are removed only for those who may run delEntries too.',
    example: {
      path: '/tables/routes/rows',
      body: { set: [{ keys: { routename: 'lab' }, columns: { net: '10.9.0.0', mask: '255.255.0.0' } }] },
    },
    bulk: true,
    only: '/muster',
  }),
  endpoint('PUT /tables/{tablelist}/rows/{keys}', {
    command: setAttribs,
    body: columnsBody,
    query: { add: 'columns, separated by commas: their values are items that are put behind those that each row has' },
    args: (input) => ({
      table: oneTable(input),
      keys: input.params['keys']!,
      columns: rowValues(input.body),
      add: input.query['add'] === undefined ? undefined : splitList(input.query['add']),
    }),
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
