import { Type } from 'typebox';
import type { Sliced } from '../core/slices.ts';
import { writableTable } from '../objects/table-access.ts';
import { hashedRows, restoreTable } from '../objects/table-dump.ts';
import { type Answer, change, everyNode, nothing, textMap } from './command.ts';

/** Puts rows into tables, in the place of all these have or beside them: all of them, or none. */
export const tabrestore = change({
  name: 'tabrestore',
  args: Type.Object({ tables: Type.Record(Type.String(), Type.Array(textMap)), add: Type.Optional(Type.Boolean()) }),
  line: ({ tables, add }) => [...(add ? ['-a'] : []), ...Object.keys(tables)],
  tablesShown: ({ tables }) => Object.keys(tables),
  // What rows it replaces is seen only then: whoever may do this may do it to all nodes.
  select: () => everyNode,
  async prepare(args) {
    const { passwd } = args.tables;
    return passwd ? { ...args, tables: { ...args.tables, passwd: await hashedRows(passwd) } } : args;
  },
  *plan(draft, { tables, add = false }): Sliced<Answer> {
    for (const [name, rows] of Object.entries(tables)) yield* restoreTable(draft, writableTable(name), rows, add);
    return nothing;
  },
});
