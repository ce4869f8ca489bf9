import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { tableNamed } from '../database/tables.ts';
import { logRows } from '../objects/log-rows.ts';
import { shownKeys } from '../objects/shown-arguments.ts';
import { matchingRows, ownersOf, parseKeys, storedRows } from '../objects/table-access.ts';
import { query } from './command.ts';

export const getAttribs = query({
  name: 'getAttribs',
  args: Type.Object({
    table: Type.String(),
    keys: Type.String({ description: 'column=value,...' }),
    columns: Type.Optional(Type.Array(Type.String())),
  }),
  line: ({ table, keys }) => [table, shownKeys(table, keys)],
  select(snapshot, { table: name, keys }) {
    const table = tableNamed(name);
    return {
      objects: undefined,
      nodes: ownersOf(snapshot, table, matchingRows(snapshot, table, parseKeys(table, keys))),
    };
  },
  async run(snapshot, { table: name, keys: text, columns }, { store }) {
    const table = tableNamed(name);
    const keys = parseKeys(table, text);
    const rows = table.log
      ? await logRows(store, table, keys, columns)
      : [...storedRows(snapshot, table, keys, columns)];
    if (rows.length === 0)
      throw new Fault('unknown-object', `Table "${name}" has no row with ${text} and a value in the wanted columns.`);
    return { shape: 'rows', tables: [[name, rows]] };
  },
});
