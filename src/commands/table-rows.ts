import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import { checkText } from '../database/checks.ts';
import type { Draft } from '../database/draft.ts';
import { without } from '../database/past.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { keyOf, type Row, type Table } from '../database/tables.ts';
import type { RangeOptions } from '../objects/cluster.ts';
import { seesOwners } from '../objects/groups.ts';
import { stateSeen } from '../objects/moments.ts';
import { shownColumns, shownKeys } from '../objects/shown-arguments.ts';
import { writableTable, writeRows } from '../objects/table-access.ts';
import { hashedRows } from '../objects/table-dump.ts';
import { type Answer, type Arguments, change, type Question, textMap } from './command.ts';

type Sees = RangeOptions['sees'];

const args = Type.Object({
  table: Type.String(),
  set: Type.Array(Type.Object({ keys: textMap, columns: textMap })),
  remove: Type.Array(textMap),
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'the revision at which the caller read them' })),
});
type Args = Arguments<typeof args>;
/** With the state that the caller saw. */
type Prepared = Args & { readonly seen?: Snapshot };

/** As other requests for rows write them. */
const keyText = (keys: Row): string =>
  Object.entries(keys)
    .map(([column, value]) => `${column}=${value}`)
    .join(',');

const setWords = (table: string, { keys, columns }: Args['set'][number]): string[] => [
  table,
  shownKeys(table, keyText(keys)),
  ...shownColumns(table, columns, keyText(keys)),
];

/** Writes and removes rows of one table in one change; the policy knows it as setAttribs, and as delEntries. */
export const writeTableRows = change({
  name: 'setAttribs',
  args,
  also: ({ remove }) => (remove.length > 0 ? ['delEntries'] : []),
  uses: ['store'],
  async prepare(given, { store }): Promise<Prepared> {
    const set = given.table === 'passwd' ? await withHashes(given.set) : given.set;
    const seen = await stateSeen(store, given.since);
    return { ...given, set, ...(seen && { seen }) };
  },
  line: ({ table, set, remove }) => [
    ...set.flatMap((each) => setWords(table, each)),
    ...remove.flatMap((keys) => ['-d', table, shownKeys(table, keyText(keys))]),
  ],
  *questions(_snapshot, { table, set, remove }): Interruptible<readonly Question[]> {
    yield;
    return [
      ...set.map((each) => ({ words: setWords(table, each), nodes: undefined })),
      ...remove.map((keys) => ({
        words: [table, shownKeys(table, keyText(keys))],
        nodes: undefined,
        command: 'delEntries',
      })),
    ];
  },
  *plan(draft, given, { ranges: { sees } }): Interruptible<Answer> {
    const table = writableTable(given.table);
    const all = [...given.set.map(({ keys }) => keys), ...given.remove];
    if (all.length === 0) throw new Fault('missing-member', 'Give rows to set, or rows to remove.');
    yield* refuseTwice(table, all);
    const { seen } = given as Prepared;
    if (seen) yield* refuseChangedRows(seen, draft, table, visible(draft.base, table, all, sees));
    for (const { keys, columns } of given.set) {
      const renamed = table.keys.find((key) => columns[key] !== undefined && columns[key] !== (keys[key] ?? ''));
      if (renamed !== undefined)
        throw new Fault('invalid', `${table.name}.${renamed} names the row and stays; make a row and remove this one.`);
      yield* writeRows(draft, table, keys, columns, { sees });
    }
    yield* eachInSlices(given.remove, (keys) => draft.remove(table.name, keyOf(table, keys)));
    return { shape: 'none' };
  },
});

/** Accounts store a hash of their password. */
const withHashes = async (set: Args['set']): Promise<Args['set']> => {
  const hashed = await hashedRows(
    set.map(({ keys, columns }) => {
      const { password } = columns;
      if (password !== undefined) checkText(password, 'passwd.password');
      return { ...columns, ...(keys['key'] === undefined ? {} : { key: keys['key'] }) };
    }),
  );
  return set.map(({ keys, columns }, i) => {
    const { password } = hashed[i]!;
    return { keys, columns: password === undefined ? columns : { ...columns, password } };
  });
};

/** Each row is named by all of its keys, and once. */
function* refuseTwice(table: Table, all: readonly Row[]): Interruptible<void> {
  const named = new Set<string>();
  yield* eachInSlices(all, (keys) => {
    const absent = table.keys.filter((key) => keys[key] === undefined && key !== 'username');
    const strange = Object.keys(keys).filter((column) => !table.keys.includes(column));
    const isEmpty = Object.values(keys).every((value) => value === '');
    if (isEmpty || absent.length > 0 || strange.length > 0)
      throw new Fault(
        'invalid',
        `Name each row of table "${table.name}" by ${table.keys.join(' and ')}, and nothing else.`,
      );
    const key = keyOf(table, keys);
    if (named.has(key)) throw new Fault('invalid', `The row ${shownKeys(table.name, keyText(keys))} is given twice.`);
    named.add(key);
  });
}

/** Whether rows of nodes that the caller does not know have changed is not said. */
const visible = (snapshot: Snapshot, { nodeColumn }: Table, all: readonly Row[], sees: Sees): readonly Row[] =>
  sees && nodeColumn !== undefined ? all.filter((keys) => seesOwners(snapshot, keys[nodeColumn] ?? '', sees)) : all;

const mostNamed = 10;

/** What becomes known by itself is no change of a row. */
const lasting = (table: Table, row: Row | undefined): string =>
  JSON.stringify(row && Object.entries(without(row, table.volatile)).sort(([a], [b]) => (a < b ? -1 : 1)));

function* refuseChangedRows(seen: Snapshot, draft: Draft, table: Table, all: readonly Row[]): Interruptible<void> {
  const changed: string[] = [];
  yield* eachInSlices(all, (keys) => {
    const key = keyOf(table, keys);
    if (lasting(table, seen.get(table.name, key)) !== lasting(table, draft.base.get(table.name, key)))
      changed.push(keyText(keys));
  });
  if (changed.length === 0) return;
  const more = changed.length > mostNamed ? ` and ${changed.length - mostNamed} more` : '';
  throw new Fault(
    'precondition',
    `Table "${table.name}": ${changed.slice(0, mostNamed).join('; ')}${more} changed since revision ${seen.revision}, and nothing was done. Read the table again; GET /changes?since=${seen.revision + 1}&table=${table.name} shows who changed what.`,
  );
}
