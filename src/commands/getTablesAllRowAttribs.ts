import { tableNamed } from '../database/tables.ts';
import { storedRows } from '../objects/table-access.ts';
import { query } from './command.ts';
import { logRows } from '../objects/log-rows.ts';

export const getTablesAllRowAttribs = query<{
  readonly tables: readonly string[];
  readonly columns: readonly string[] | undefined;
}>({
  name: 'getTablesAllRowAttribs',
  aliases: ['tabdump'],
  async run(snapshot, { tables, columns }, { store }) {
    const rows: Record<string, unknown> = {};
    for (const table of tables.map(tableNamed)) {
      rows[table.name] = table.log
        ? await logRows(store, table, {}, columns)
        : storedRows(snapshot, table, undefined, columns);
    }
    return { shape: 'value', value: rows };
  },
});
