import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Sliced } from '../core/slices.ts';
import { columnsToWrite, columnWords, removeOwnRows, writeColumns } from '../objects/node-columns.ts';
import { shownColumn } from '../objects/shown-arguments.ts';
import { nodeTableNamed, writableTable } from '../objects/table-access.ts';
import { type Answer, change, nothing, selectNodes, textMap } from './command.ts';

/** Changes columns of nodes' own rows, or removes the rows. */
export const nodech = change({
  name: 'nodech',
  args: Type.Object({
    range: Type.String(),
    set: Type.Optional(textMap),
    add: Type.Optional(textMap),
    remove: Type.Optional(textMap),
    tables: Type.Optional(Type.Array(Type.String(), { description: 'whose rows are removed' })),
  }),
  line: ({ tables = [], ...changes }) => (tables.length > 0 ? ['-d', ...tables] : columnWords(changes, shownColumn)),
  select: (snapshot, { range }, services) => selectNodes(snapshot, { range, refuseEmpty: true }, services),
  *plan(draft, { tables = [], ...changes }, { selection: { nodes = [] } }): Sliced<Answer> {
    const emptied = tables.map((name) => nodeTableNamed(writableTable(name).name));
    if (emptied.some(({ name }) => name === 'nodelist'))
      throw new Fault('invalid', 'Without its row of nodelist a node is none: remove the node instead.');
    const byTable = columnsToWrite(changes);
    yield* eachInSlices(nodes, (node) => {
      for (const table of emptied) removeOwnRows(draft, table, node);
      writeColumns(draft, byTable, changes, node);
    });
    return nothing;
  },
});
