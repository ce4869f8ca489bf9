import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible, mapInSlices } from '../core/slices.ts';
import { checkText } from '../database/checks.ts';
import { type Draft, redacted } from '../database/draft.ts';
import { keyOf, type Row, type Table, tableNamed } from '../database/tables.ts';
import { accountKey, hashedForAccounts } from '../objects/accounts.ts';
import { shownColumns, shownKeys } from '../objects/shown-arguments.ts';
import {
  matchingRows,
  nodeTableNamed,
  parseWrittenKeys,
  rowsMeant,
  writableTable,
  writeNodeRow,
  writeRows,
} from '../objects/table-access.ts';
import { hashedRows, restoreTable, withOpenedSecrets } from '../objects/table-dump.ts';
import { type Answer, change, everyNode, nothing, selectNodes, textMap } from './command.ts';

/** Characters that a password should have. */
const shortest = 8;

export const setAttribs = change({
  name: 'setAttribs',
  args: Type.Object({
    table: Type.String(),
    keys: Type.String(),
    columns: textMap,
    add: Type.Optional(
      Type.Array(Type.String(), { description: 'columns whose values are put behind what rows have' }),
    ),
    hashed: Type.Optional(
      Type.String({ description: 'the password in columns as an account stores it; made by prepare' }),
    ),
  }),
  line({ table, keys, columns, add = [] }) {
    const names = Object.keys(columns);
    const words = shownColumns(table, columns, keys);
    return [
      table,
      shownKeys(table, keys),
      ...words.map((word, at) => (add.includes(names[at]!) ? word.replace('=', '+=') : word)),
    ];
  },
  async prepare(args) {
    const { password } = args.columns;
    if (args.table !== 'passwd' || password === undefined || password === 'NULL') return args;
    // The hash would hide what is wrong with the text.
    checkText(password, 'passwd.password');
    return { ...args, hashed: await hashedForAccounts(password) };
  },
  *plan(draft, { table: name, keys: text, columns, add = [], hashed }, { ranges: { sees } }): Interruptible<Answer> {
    const table = writableTable(name);
    const keys = parseWrittenKeys(table, text);
    const absent = add.find((column) => columns[column] === undefined);
    if (absent !== undefined) throw new Fault('invalid', `Give the items that are to be added to ${name}.${absent}.`);
    if (name === 'passwd') yield* writePasswords(draft, table, keys, { columns, add, hashed });
    else yield* writeRows(draft, table, keys, columns, { sees, add });
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
  {
    columns,
    add,
    hashed,
  }: { readonly columns: Row; readonly add: readonly string[]; readonly hashed?: string | undefined },
): Interruptible<void> {
  const rows = matchingRows(draft.base, table, keys);
  const write = (own: Row, account: boolean) =>
    writeRows(draft, table, own, account && hashed !== undefined ? { ...columns, password: hashed } : columns, { add });
  for (const row of rows) {
    const account = (columns['key'] ?? row['key']) === accountKey;
    if (account !== (row['key'] === accountKey) && row['password'] && (!hashed || hashed === redacted)) {
      throw new Fault('invalid', 'An account stores its password in another form: give the password with the new key.');
    }
    yield* write({ key: row['key'] ?? '', username: row['username'] ?? '' }, account);
  }
  if (rows.length === 0) yield* write(keys, (columns['key'] ?? keys['key']) === accountKey);
}

export const setNodesAttribs = change({
  name: 'setNodesAttribs',
  args: Type.Object({ range: Type.String(), tables: Type.Record(Type.String(), textMap) }),
  line: ({ tables }) => Object.entries(tables).flatMap(([table, columns]) => shownColumns(table, columns)),
  select: (snapshot, { range }, services) => selectNodes(snapshot, { range, refuseEmpty: true }, services),
  *plan(draft, { tables }, { selection: { nodes = [] } }): Interruptible<Answer> {
    for (const [name, columns] of Object.entries(tables)) {
      const table = nodeTableNamed(writableTable(name).name);
      yield* eachInSlices(nodes, (node) => writeNodeRow(draft, table, node, columns));
    }
    return nothing;
  },
});

export const delEntries = change({
  name: 'delEntries',
  args: Type.Object({ table: Type.String(), keys: Type.String() }),
  line: ({ table, keys }) => [table, shownKeys(table, keys)],
  *plan(draft, { table: name, keys }, { ranges: { sees } }): Interruptible<Answer> {
    const table = writableTable(name);
    const rows = rowsMeant(draft.base, table, parseWrittenKeys(table, keys), sees);
    yield* eachInSlices(rows, (row) => draft.remove(name, keyOf(table, row)));
    return nothing;
  },
});

const mostNamed = 5;

function leftOutNote(secrets: readonly string[]): string {
  const more = secrets.length > mostNamed ? ` and ${secrets.length - mostNamed} more` : '';
  return `The dump hides these secrets, or another server sealed them, and none is stored here, so they are empty now; set them again: ${secrets.slice(0, mostNamed).join(', ')}${more}.`;
}

/** Puts rows into tables, in the place of all these have or beside them: all of them, or none. */
export const tabrestore = change({
  name: 'tabrestore',
  args: Type.Object({
    tables: Type.Record(Type.String(), Type.Array(textMap)),
    add: Type.Optional(Type.Boolean()),
    leaveOut: Type.Optional(Type.Boolean({ description: 'secrets that are hidden and not stored are no error' })),
  }),
  uses: ['secrets'],
  line: ({ tables, add }) => [...(add ? ['-a'] : []), ...Object.keys(tables)],
  tablesShown: ({ tables }) => Object.keys(tables),
  // What rows it replaces is seen only then: whoever may do this may do it to all nodes.
  select: () => everyNode,
  async prepare(args, { secrets }, isLimited) {
    // Only who has full rights has seen a sealed secret.
    const opened: Record<string, readonly Row[]> = {};
    for (const [name, rows] of Object.entries(args.tables))
      opened[name] = isLimited
        ? rows
        : await mapInSlices(rows, (row) => withOpenedSecrets(secrets, tableNamed(name), row));
    const { passwd } = opened;
    return { ...args, tables: passwd ? { ...opened, passwd: await hashedRows(passwd) } : opened };
  },
  *plan(draft, { tables, add = false, leaveOut = false }): Interruptible<Answer> {
    const missing: string[] = [];
    const leftOut = leaveOut ? (secret: string): void => void missing.push(secret) : undefined;
    for (const [name, rows] of Object.entries(tables))
      yield* restoreTable(draft, writableTable(name), rows, { add, leftOut });
    return missing.length === 0 ? nothing : { shape: 'none', notes: [leftOutNote(missing)] };
  },
});
