import { Type } from 'typebox';
import { tabdump, tabrestore } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import type { Row } from '../../database/tables.ts';
import { valueText } from '../definition-body.ts';
import { anyMembers, endpoint, type Endpoint, type Input } from '../endpoint.ts';
import { splitList } from './definitions.ts';

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
