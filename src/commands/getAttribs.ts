import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { tableNamed } from '../database/tables.ts';
import { logRows } from '../objects/log-rows.ts';
import { shownKeys } from '../objects/shown-arguments.ts';
import { ownersOf, parseKeys, rowsMeant, storedRows, tellsOfNodes } from '../objects/table-access.ts';
import { everyNode, noSelection, query } from './command.ts';

export const getAttribs = query({
  name: 'getAttribs',
  showsPast: ({ table }) => !tableNamed(table).log,
  args: Type.Object({
    table: Type.String(),
    keys: Type.String({ description: 'column=value,...' }),
    columns: Type.Optional(Type.Array(Type.String())),
  }),
  uses: ['store'],
  line: ({ table, keys }) => [table, shownKeys(table, keys)],
  select(snapshot, { table: name, keys: text }, { ranges: { sees } }) {
    const table = tableNamed(name);
    const keys = parseKeys(table, text);
    const { nodeColumn } = table;
    if (nodeColumn === undefined) return tellsOfNodes(table) ? everyNode : noSelection;
    const rows = rowsMeant(snapshot, table, keys, sees);
    return { objects: undefined, nodes: ownersOf(snapshot, nodeColumn, keys, rows) };
  },
  async run(snapshot, { table: name, keys: text, columns }, { store, ranges: { sees } }) {
    const table = tableNamed(name);
    const keys = parseKeys(table, text);
    const rows = table.log
      ? await logRows(store, table, keys, columns)
      : [...storedRows(snapshot, table, keys, columns, sees)];
    if (rows.length === 0)
      throw new Fault('unknown-object', `Table "${name}" has no row with ${text} and a value in the wanted columns.`, {
        reference: ['No table rows matched specified keys or attributes'],
      });
    return { shape: 'rows', tables: [[name, rows]] };
  },
});
