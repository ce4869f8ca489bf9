import { Type } from 'typebox';
import { tableNamed, tables as allTables } from '../database/tables.ts';
import { logRows } from '../objects/log-rows.ts';
import { tellsOfNodes } from '../objects/table-access.ts';
import { dumpTable, type TableDump } from '../objects/table-dump.ts';
import { everyNode, noSelection, query } from './command.ts';

/** Tables as they are stored; without any, the names of all. */
export const tabdump = query({
  name: 'tabdump',
  args: Type.Object({ tables: Type.Optional(Type.Array(Type.String())) }),
  uses: ['store'],
  line: ({ tables = [] }) => tables,
  select: (_snapshot, { tables = [] }) =>
    tables.some((name) => tellsOfNodes(tableNamed(name))) ? everyNode : noSelection,
  async run(snapshot, { tables }, { store }) {
    if (!tables) return { shape: 'list', items: [...allTables.keys()] };
    const dumps: Record<string, TableDump> = {};
    for (const table of tables.map(tableNamed)) {
      dumps[table.name] = table.log
        ? { columns: table.columns, keys: table.keys, rows: await logRows(store, table, {}, undefined) }
        : await dumpTable(snapshot, table, await store.database.storedOrder(table.name));
    }
    // Logs grow with every reading; nobody could say which one they have seen.
    const tagged = !tables.some((name) => tableNamed(name).log);
    return { shape: 'value', value: dumps, ...(tagged ? { dependsOn: tables } : {}) };
  },
});
