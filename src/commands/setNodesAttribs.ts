import { Type } from 'typebox';
import { eachInSlices, type Sliced } from '../core/slices.ts';
import { shownColumns } from '../objects/shown-arguments.ts';
import { nodeTableNamed, writableTable, writeNodeRow } from '../objects/table-access.ts';
import { type Answer, change, nothing, selectNodes, textMap } from './command.ts';

export const setNodesAttribs = change({
  name: 'setNodesAttribs',
  args: Type.Object({ range: Type.String(), tables: Type.Record(Type.String(), textMap) }),
  line: ({ tables }) => Object.entries(tables).flatMap(([table, columns]) => shownColumns(table, columns)),
  select: (snapshot, { range }, services) => selectNodes(snapshot, { range, refuseEmpty: true }, services),
  *plan(draft, { tables }, { selection: { nodes = [] } }): Sliced<Answer> {
    for (const [name, columns] of Object.entries(tables)) {
      const table = nodeTableNamed(writableTable(name).name);
      yield* eachInSlices(nodes, (node) => writeNodeRow(draft, table, node, columns));
    }
    return nothing;
  },
});
