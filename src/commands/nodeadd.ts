import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Sliced } from '../core/slices.ts';
import { createObject } from '../objects/define.ts';
import { columnsToWrite, columnWords, writeColumns } from '../objects/node-columns.ts';
import { emptyRange, namedObjects, policyNodesInSlices } from '../objects/select.ts';
import { shownColumn } from '../objects/shown-arguments.ts';
import { nodeType, tablesBehind } from '../objects/types.ts';
import { type Answer, change, nothing, type Selection, textMap } from './command.ts';

/** Makes nodes of columns of tables; of those that exist the columns are set. */
export const nodeadd = change({
  name: 'nodeadd',
  args: Type.Object({ names: Type.String(), set: textMap }),
  line: ({ names, set }) => [names, ...columnWords({ set }, shownColumn)],
  tablesShown: () => tablesBehind(nodeType),
  *select(snapshot, { names }, { ranges }): Sliced<Selection> {
    const { existing, missing } = namedObjects(snapshot, nodeType, names, ranges);
    if (existing.length + missing.length === 0) throw emptyRange(names);
    const nodes = yield* policyNodesInSlices(snapshot, nodeType, [...existing, ...missing], ranges.sees);
    return { objects: existing, missing, nodes };
  },
  *plan(draft, { set }, { ranges, selection: { objects = [], missing = [] } }): Sliced<Answer> {
    const byTable = columnsToWrite({ set });
    const groups = set['nodelist.groups'] ?? '';
    if (missing.length > 0 && groups === '')
      throw new Fault('invalid', `Node "${missing[0]!}" needs groups, for example nodelist.groups=all.`);
    yield* eachInSlices(missing, (name) => createObject(draft, nodeType, name, { groups }, ranges));
    yield* eachInSlices([...objects, ...missing], (name) => writeColumns(draft, byTable, { set }, name));
    return nothing;
  },
});
