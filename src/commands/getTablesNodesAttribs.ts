import { nodeRows, nodeTableNamed } from '../objects/table-access.ts';
import { query, selectNodes } from './command.ts';

export interface NodeRowsArgs {
  readonly tables: readonly string[];
  readonly range: string;
  readonly columns: readonly string[] | undefined;
}

export const getTablesNodesAttribs = query<NodeRowsArgs>({
  name: 'getTablesNodesAttribs',
  select: selectNodes,
  run(snapshot, { tables, columns }, { selection: { nodes = [] } }) {
    return {
      shape: 'rows',
      tables: tables.map((name) => [name, nodeRows(snapshot, nodeTableNamed(name), nodes, columns)]),
    };
  },
});
