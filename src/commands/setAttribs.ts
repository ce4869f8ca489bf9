import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Sliced } from '../core/slices.ts';
import { checkText } from '../database/checks.ts';
import { type Draft, redacted } from '../database/draft.ts';
import type { Row, Table } from '../database/tables.ts';
import { accountKey, hashedForAccounts } from '../objects/accounts.ts';
import { shownColumns, shownKeys } from '../objects/shown-arguments.ts';
import { matchingRows, parseKeys, writableTable, writeRows } from '../objects/table-access.ts';
import { type Answer, change, nothing, textMap } from './command.ts';

/** Characters that a password should have. */
const shortest = 8;

export const setAttribs = change({
  name: 'setAttribs',
  args: Type.Object({
    table: Type.String(),
    keys: Type.String(),
    columns: textMap,
    hashed: Type.Optional(
      Type.String({ description: 'the password in columns as an account stores it; made by prepare' }),
    ),
  }),
  line: ({ table, keys, columns }) => [table, shownKeys(table, keys), ...shownColumns(table, columns, keys)],
  async prepare(args) {
    const { password } = args.columns;
    if (args.table !== 'passwd' || password === undefined || password === 'NULL') return args;
    // The hash would hide what is wrong with the text.
    checkText(password, 'passwd.password');
    return { ...args, hashed: await hashedForAccounts(password) };
  },
  *plan(draft, { table: name, keys: text, columns, hashed }, { ranges: { sees } }): Sliced<Answer> {
    const table = writableTable(name);
    const keys = parseKeys(table, text);
    if (name === 'passwd') yield* writePasswords(draft, table, keys, columns, hashed);
    else yield* writeRows(draft, table, keys, columns, sees);
    const { password = '' } = columns;
    const isAccount = (columns['key'] ?? keys['key']) === accountKey;
    if (name !== 'passwd' || !isAccount || password === '' || password.length >= shortest) return nothing;
    return { shape: 'none', notes: [`The new password has fewer than ${shortest} characters; it is easy to guess.`] };
  },
});

/** The rows may be accounts and others; each gets the password in the form it stores. */
function* writePasswords(
  draft: Draft,
  table: Table,
  keys: Row,
  columns: Row,
  hashed: string | undefined,
): Sliced<void> {
  const rows = matchingRows(draft.base, table, keys);
  const write = (own: Row, account: boolean) =>
    writeRows(draft, table, own, account && hashed !== undefined ? { ...columns, password: hashed } : columns);
  for (const row of rows) {
    const account = (columns['key'] ?? row['key']) === accountKey;
    if (account !== (row['key'] === accountKey) && row['password'] && (!hashed || hashed === redacted)) {
      throw new Fault('invalid', 'An account stores its password in another form: give the password with the new key.');
    }
    yield* write({ key: row['key'] ?? '', username: row['username'] ?? '' }, account);
  }
  if (rows.length === 0) yield* write(keys, (columns['key'] ?? keys['key']) === accountKey);
}
