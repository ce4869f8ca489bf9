import { Type } from 'typebox';
import { eachInSlices, type Sliced } from '../core/slices.ts';
import { keyOf } from '../database/tables.ts';
import { shownKeys } from '../objects/shown-arguments.ts';
import { parseKeys, rowsMeant, writableTable } from '../objects/table-access.ts';
import { type Answer, change, nothing } from './command.ts';

export const delEntries = change({
  name: 'delEntries',
  args: Type.Object({ table: Type.String(), keys: Type.String() }),
  line: ({ table, keys }) => [table, shownKeys(table, keys)],
  *plan(draft, { table: name, keys }, { ranges: { sees } }): Sliced<Answer> {
    const table = writableTable(name);
    const rows = rowsMeant(draft.base, table, parseKeys(table, keys), sees);
    yield* eachInSlices(rows, (row) => draft.remove(name, keyOf(table, row)));
    return nothing;
  },
});
