import type { Row } from '../database/tables.ts';
import { accountKey, hashedForAccounts } from '../objects/accounts.ts';
import { matchingRows, parseKeys, writableTable, writeRows } from '../objects/table-access.ts';
import { change, nothing } from './command.ts';

export interface SetAttribsArgs {
  readonly table: string;
  readonly keys: string;
  readonly columns: Row;
  /** The password in `columns` as an account stores it. */
  readonly hashed?: string;
}

export const setAttribs = change<SetAttribsArgs>({
  name: 'setAttribs',
  aliases: ['tabch'],
  async prepare(args) {
    const { password } = args.columns;
    if (args.table !== 'passwd' || password === undefined) return args;
    return { ...args, hashed: await hashedForAccounts(password) };
  },
  plan(draft, { table: name, keys: text, columns, hashed }) {
    const table = writableTable(name);
    const keys = parseKeys(table, text);
    if (hashed === undefined) {
      writeRows(draft, table, keys, columns);
      return nothing;
    }
    // The rows may be of both kinds; each gets the password in the form it stores.
    const rows = matchingRows(draft.base, table, keys);
    for (const row of rows.length > 0 ? rows : [{ ...keys, ...columns }]) {
      const password = row['key'] === accountKey ? hashed : columns['password']!;
      const own: Row = rows.length > 0 ? { key: row['key'] ?? '', username: row['username'] ?? '' } : keys;
      writeRows(draft, table, own, { ...columns, password });
    }
    return nothing;
  },
});
