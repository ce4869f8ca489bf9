import { keyOf } from '../database/tables.ts';
import { matchingRows, parseKeys, writableTable } from '../objects/table-access.ts';
import { change, nothing } from './command.ts';

export const delEntries = change<{ readonly table: string; readonly keys: string }>({
  name: 'delEntries',
  plan(draft, { table: name, keys }) {
    const table = writableTable(name);
    for (const row of matchingRows(draft.base, table, parseKeys(table, keys))) draft.remove(name, keyOf(table, row));
    return nothing;
  },
});
