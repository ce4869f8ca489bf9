import { knownNodes } from '../objects/cluster.ts';
import { nodeRows, nodeTableNamed } from '../objects/table-access.ts';
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
  run(snapshot, { tables, columns }, { selection: { nodes = [] } }) {
    return {
      shape: 'rows',
      tables: tables.map((name) => [name, nodeRows(snapshot, nodeTableNamed(name), nodes, columns)]),
    };
  },
});
