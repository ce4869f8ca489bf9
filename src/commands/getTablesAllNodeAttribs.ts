import { visibleNodes } from '../objects/groups.ts';
import { nodeRow, nodeTableNamed } from '../objects/table-access.ts';
import { query } from './command.ts';

/** Like the reading of named nodes, but only of those that have anything in the table. */
export const getTablesAllNodeAttribs = query<{
  readonly tables: readonly string[];
  readonly columns: readonly string[] | undefined;
}>({
  name: 'getTablesAllNodeAttribs',
  aliases: ['tabdump'],
  select(snapshot) {
    const nodes = visibleNodes(snapshot);
    return { objects: nodes, nodes };
  },
  run(snapshot, { tables, columns }, { selection }) {
    const rows = tables.map((name) => {
      const table = nodeTableNamed(name);
      const all = (selection.nodes ?? []).map((node) => nodeRow(snapshot, table, node, columns));
      return [name, all.filter((row) => Object.keys(row).length > 1)] as const;
    });
    return { shape: 'value', value: Object.fromEntries(rows) };
  },
});
