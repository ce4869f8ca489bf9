import type { Row } from '../database/tables.ts';
import { knownNodes } from '../objects/cluster.ts';
import { emptyRange } from '../objects/select.ts';
import { nodeTableNamed, writableTable, writeNodeRow } from '../objects/table-access.ts';
import { change, nothing } from './command.ts';

export interface SetNodesAttribsArgs {
  readonly range: string;
  readonly tables: Readonly<Record<string, Row>>;
}

export const setNodesAttribs = change<SetNodesAttribsArgs>({
  name: 'setNodesAttribs',
  aliases: ['tabch'],
  select(snapshot, { range }, { ranges }) {
    const nodes = knownNodes(snapshot, range, ranges);
    return { objects: nodes, nodes };
  },
  plan(draft, { range, tables }, { selection: { nodes = [] } }) {
    if (nodes.length === 0) throw emptyRange(range);
    for (const [name, columns] of Object.entries(tables)) {
      const table = nodeTableNamed(writableTable(name).name);
      for (const node of nodes) writeNodeRow(draft, table, node, columns);
    }
    return nothing;
  },
});
