import { keyOf } from '../database/tables.ts';
import { parseKeys, rowsMeant, writableTable } from '../objects/table-access.ts';
import { change, nothing } from './command.ts';

export const delEntries = change<{ readonly table: string; readonly keys: string }>({
  name: 'delEntries',
  plan(draft, { table: name, keys }, { ranges: { sees } }) {
    const table = writableTable(name);
    for (const row of rowsMeant(draft.base, table, parseKeys(table, keys), sees)) draft.remove(name, keyOf(table, row));
    return nothing;
  },
});
