import { Type } from 'typebox';
import { tableNamed } from '../database/tables.ts';
import { logRows } from '../objects/log-rows.ts';
import { storedRows, tellsOfNodes } from '../objects/table-access.ts';
import { everyNode, noSelection, query, type Rows } from './command.ts';

export const getTablesAllRowAttribs = query({
  name: 'getTablesAllRowAttribs',
  showsPast: ({ tables }) => !tables.some((name) => tableNamed(name).log),
  args: Type.Object({ tables: Type.Array(Type.String()), columns: Type.Optional(Type.Array(Type.String())) }),
  uses: ['store'],
  line: ({ tables }) => [tables.join(',')],
  select: (_snapshot, { tables }) => (tables.some((name) => tellsOfNodes(tableNamed(name))) ? everyNode : noSelection),
  async run(snapshot, { tables, columns }, { store }) {
    const rows: Rows['tables'][number][] = [];
    for (const table of tables.map(tableNamed)) {
      rows.push([
        table.name,
        table.log ? await logRows(store, table, {}, columns) : storedRows(snapshot, table, undefined, columns),
      ]);
    }
    return { shape: 'rows', tables: rows };
  },
});
