import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import { keyOf } from '../database/tables.ts';
import { nodesThatMeet } from '../objects/cluster.ts';
import { createObject, rowsNamed } from '../objects/define.ts';
import { objectExists } from '../objects/definitions.ts';
import { listItems } from '../core/list-items.ts';
import { staticMembers } from '../objects/groups.ts';
import { checkGroupName } from '../objects/names.ts';
import {
  columnOrigins,
  columnsToWrite,
  columnWords,
  effectiveColumns,
  nodeColumns,
  removeOwnRows,
  writeColumns,
} from '../objects/node-columns.ts';
import { emptyRange, namedObjects, policyNodesInSlices } from '../objects/select.ts';
import { shownColumn, shownRange } from '../objects/shown-arguments.ts';
import { nodeTableNamed, writableTable } from '../objects/table-access.ts';
import { groupType, nodeType, tablesBehind } from '../objects/types.ts';
import {
  type Answer,
  change,
  hiddenArgument,
  nodeArguments,
  nothing,
  query,
  type Selection,
  selectNodes,
  textMap,
} from './command.ts';

export const nodels = query({
  name: 'nodels',
  showsPast: () => true,
  args: Type.Object({
    ...nodeArguments,
    ...hiddenArgument,
    columns: Type.Optional(Type.Array(Type.String())),
    origins: Type.Optional(Type.Boolean()),
  }),
  line: ({ columns = [] }) => columns,
  select: selectNodes,
  run(snapshot, { columns: names, origins }, { selection: { objects = [] } }) {
    if (names === undefined) return { shape: 'list', items: objects };
    const columns = nodeColumns(names);
    const attributes = (origins ? columnOrigins : effectiveColumns)(snapshot, columns);
    return { shape: 'objects', names: objects, attributes };
  },
});

/** Makes nodes of columns of tables; of those that exist the columns are set. */
export const nodeadd = change({
  name: 'nodeadd',
  args: Type.Object({ names: Type.String(), set: textMap }),
  line: ({ names, set }) => [names, ...columnWords({ set }, shownColumn)],
  tablesShown: () => tablesBehind(nodeType),
  *select(snapshot, { names }, { ranges }): Interruptible<Selection> {
    const { existing, missing } = namedObjects(snapshot, nodeType, names, ranges);
    if (existing.length + missing.length === 0) throw emptyRange(names);
    const nodes = yield* policyNodesInSlices(snapshot, nodeType, [...existing, ...missing], ranges.sees);
    return { objects: existing, missing, nodes };
  },
  *plan(draft, { set }, { ranges, selection: { objects = [], missing = [] } }): Interruptible<Answer> {
    const byTable = columnsToWrite({ set });
    const groups = set['nodelist.groups'] ?? '';
    if (missing.length > 0 && groups === '')
      throw new Fault('invalid', `Node "${missing[0]!}" needs groups, for example nodelist.groups=all.`);
    yield* eachInSlices(missing, (name) => createObject(draft, nodeType, name, { groups }, ranges));
    yield* eachInSlices([...objects, ...missing], (name) => writeColumns(draft, byTable, { set }, name));
    return nothing;
  },
});

/** As many as a range may have. */
const mostCriteria = 10;

/** Changes columns of nodes' own rows, or removes the rows. */
export const nodech = change({
  name: 'nodech',
  args: Type.Object({
    range: Type.String(),
    set: Type.Optional(textMap),
    add: Type.Optional(textMap),
    remove: Type.Optional(textMap),
    tables: Type.Optional(Type.Array(Type.String(), { description: 'whose rows are removed' })),
    where: Type.Optional(Type.Array(Type.String(), { maxItems: mostCriteria })),
  }),
  line: ({ tables = [], where = [], ...changes }) => [
    ...(tables.length > 0 ? ['-d', ...tables] : []),
    ...where.map(shownRange),
    ...columnWords(changes, shownColumn),
  ],
  select(snapshot, { range, where = [] }, services) {
    const selection = selectNodes(snapshot, { range, refuseEmpty: true }, services);
    if (where.length === 0) return selection;
    const nodes = nodesThatMeet(snapshot, selection.nodes ?? [], where);
    if (nodes.length === 0) throw emptyRange([range, ...where].join(' '));
    return { objects: nodes, nodes };
  },
  *plan(draft, { tables = [], ...changes }, { selection: { nodes = [] } }): Interruptible<Answer> {
    const emptied = tables.map((name) => nodeTableNamed(writableTable(name).name));
    if (emptied.some(({ name }) => name === 'nodelist'))
      throw new Fault('invalid', 'A node cannot exist without its row of nodelist; remove the node instead.');
    const byTable = columnsToWrite(changes);
    yield* eachInSlices(nodes, (node) => {
      for (const table of emptied) removeOwnRows(draft, table, node);
      writeColumns(draft, byTable, changes, node);
    });
    return nothing;
  },
});

/** Gives groups values; what their members had in these columns themselves is unset, so that all show the group's. */
export const nodegrpch = change({
  name: 'nodegrpch',
  args: Type.Object({ groups: Type.String(), set: textMap }),
  line: ({ groups, set }) => [groups, ...columnWords({ set }, shownColumn)],
  *select(snapshot, { groups }, { ranges }): Interruptible<Selection> {
    const names = listItems(groups);
    return { objects: names, nodes: yield* policyNodesInSlices(snapshot, groupType, names, ranges.sees) };
  },
  *plan(draft, { set }, { selection: { objects = [] } }): Interruptible<Answer> {
    const byTable = columnsToWrite({ set });
    for (const table of byTable.keys())
      if (table.name === 'nodelist') throw new Fault('invalid', 'Groups have no rows in nodelist; change the nodes.');
    for (const group of objects) {
      checkGroupName(group);
      if (objectExists(draft.base, nodeType, group))
        throw new Fault('invalid', `"${group}" is a node, not a group; change it with nodech.`);
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
