import type { Row } from '../database/tables.ts';
import { nodeTableNamed, writableTable, writeNodeRow } from '../objects/table-access.ts';
import { change, nothing, selectNodes } from './command.ts';

export interface SetNodesAttribsArgs {
  readonly range: string;
  readonly tables: Readonly<Record<string, Row>>;
}

export const setNodesAttribs = change<SetNodesAttribsArgs>({
  name: 'setNodesAttribs',
  select: (snapshot, { range }, services) => selectNodes(snapshot, { range, refuseEmpty: true }, services),
  plan(draft, { tables }, { selection: { nodes = [] } }) {
    for (const [name, columns] of Object.entries(tables)) {
      const table = nodeTableNamed(writableTable(name).name);
      for (const node of nodes) writeNodeRow(draft, table, node, columns);
    }
    return nothing;
  },
});
