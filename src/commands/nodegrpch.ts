import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Sliced } from '../core/slices.ts';
import { keyOf } from '../database/tables.ts';
import { rowsNamed } from '../objects/define.ts';
import { objectExists } from '../objects/definitions.ts';
import { listItems } from '../objects/effective.ts';
import { staticMembers } from '../objects/groups.ts';
import { checkGroupName } from '../objects/names.ts';
import { columnsToWrite, columnWords, writeColumns } from '../objects/node-columns.ts';
import { policyNodesInSlices } from '../objects/select.ts';
import { shownColumn } from '../objects/shown-arguments.ts';
import { groupType, nodeType } from '../objects/types.ts';
import { type Answer, change, nothing, type Selection, textMap } from './command.ts';

/** Gives groups values; what their members had in these columns themselves is unset, so that all show the group's. */
export const nodegrpch = change({
  name: 'nodegrpch',
  args: Type.Object({ groups: Type.String(), set: textMap }),
  line: ({ groups, set }) => [groups, ...columnWords({ set }, shownColumn)],
  *select(snapshot, { groups }, { ranges }): Sliced<Selection> {
    const names = listItems(groups);
    return { objects: names, nodes: yield* policyNodesInSlices(snapshot, groupType, names, ranges.sees) };
  },
  *plan(draft, { set }, { selection: { objects = [] } }): Sliced<Answer> {
    const byTable = columnsToWrite({ set });
    for (const table of byTable.keys())
      if (table.name === 'nodelist') throw new Fault('invalid', 'Groups have no rows in nodelist; change the nodes.');
    for (const group of objects) {
      checkGroupName(group);
      if (objectExists(draft.base, nodeType, group))
        throw new Fault('invalid', `"${group}" is a node, and no group; nodech changes nodes.`);
      writeColumns(draft, byTable, { set }, group);
      for (const [table, columns] of byTable) {
        const unset = Object.fromEntries(columns.map(({ column }) => [column, undefined]));
        yield* eachInSlices(staticMembers(draft.base, group), (node) => {
          for (const row of rowsNamed(draft, table, node)) draft.merge(table.name, keyOf(table, row), unset);
        });
      }
    }
    return nothing;
  },
});
