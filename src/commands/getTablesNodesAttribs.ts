import { knownNodes } from '../objects/cluster.ts';
import { nodeRow, nodeTableNamed } from '../objects/table-access.ts';
import { query } from './command.ts';

export interface NodeRowsArgs {
  readonly tables: readonly string[];
  readonly range: string;
  readonly columns: readonly string[] | undefined;
}

export const getTablesNodesAttribs = query<NodeRowsArgs>({
  name: 'getTablesNodesAttribs',
  aliases: ['tabdump'],
  select(snapshot, { range }, { ranges }) {
    const nodes = knownNodes(snapshot, range, ranges);
    return { objects: nodes, nodes };
  },
  run(snapshot, { tables, columns }, { selection }) {
    const rows = tables.map((name) => {
      const table = nodeTableNamed(name);
      return [name, (selection.nodes ?? []).map((node) => nodeRow(snapshot, table, node, columns))] as const;
    });
    return { shape: 'value', value: Object.fromEntries(rows) };
  },
});
