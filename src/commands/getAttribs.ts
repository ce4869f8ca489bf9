import { Fault } from '../core/errors.ts';
import { tableNamed } from '../database/tables.ts';
import { logRows } from '../objects/log-rows.ts';
import { matchingRows, ownersOf, parseKeys, storedRows } from '../objects/table-access.ts';
import { query } from './command.ts';

export interface RowsArgs {
  readonly table: string;
  /** `column=value,...` as in the path. */
  readonly keys: string;
  readonly columns: readonly string[] | undefined;
}

export const getAttribs = query<RowsArgs>({
  name: 'getAttribs',
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
