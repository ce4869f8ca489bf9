import { setImmediate } from 'node:timers/promises';
import { joinChanges, type JournalChanges } from './changeset.ts';
import type { ChangeSet, JournalEntry, JournalQuery } from './database.ts';

/** Revisions that are looked through at once: few at first, since whoever reads often wants only the newest. */
const firstWindow = 256;
const largestWindow = 4_096;
/** Characters of entries that are read and parsed at once. */
export const charactersPerPage = 100_000;

type Stored = NonNullable<ChangeSet['journal']>;
/** A part of an entry, as a row of the journal. */
export type PartRow = Omit<Stored, 'reverts'> & { readonly reverts: number | null; readonly changes: string };

/** What an entry says of its origin; absent is what it does not say. */
export function journalOrigin(row: Omit<Stored, 'reverts'> & { readonly reverts?: number | null | undefined }): Stored {
  const { revision, time, user, client, command, run, reverts } = row;
  return { revision, time, user, client, command, run, ...(reverts ? { reverts } : {}) };
}

type Condition = readonly [sql: string, texts: readonly string[]];

/** More texts are not looked for: to read the entries is faster. */
const mostTexts = 16;

/** What narrows a query down, in SQL with ? for texts; `contains` is how a database says that the changes contain one. */
export function journalConditions({ user, command, tables, names }: JournalQuery, contains: string): Condition[] {
  const containing = (texts: readonly string[] | undefined): Condition[] =>
    texts && texts.length > 0 && texts.length <= mostTexts
      ? [[`(${texts.map(() => contains).join(' or ')})`, texts]]
      : [];
  return [
    ...(user === undefined ? [] : [['"user" = ?', [user]] as const]),
    ...(command === undefined ? [] : [['command = ?', [command]] as const]),
    // As JSON has them: a key of several columns begins with the first.
    ...containing(tables?.map((table) => `${JSON.stringify(table)}:[`)),
    ...containing(names?.flatMap((name) => [JSON.stringify(name), `${JSON.stringify(name).slice(0, -1)}\\u0000`])),
  ];
}

/** The rows of entries after one revision, up to another, the newest first: at least so many that `charactersPerPage` is exceeded, if there are. */
export type RowsBetween = (after: number, until: number) => Iterable<PartRow> | Promise<Iterable<PartRow>>;

/** Whole entries in pieces, each made in a few milliseconds. */
export async function* readEntries(
  rowsBetween: RowsBetween,
  { after, until }: JournalQuery,
): AsyncGenerator<readonly JournalEntry[], void, void> {
  let window = firstWindow;
  for (let upper = until; upper > after; ) {
    const lower = Math.max(after, upper - window);
    const { gathered, next } = gather(await rowsBetween(lower, upper), lower);
    upper = next;
    window = Math.min(2 * window, largestWindow);
    const entries: JournalEntry[] = [];
    for (const { row, parts } of gathered) entries.push({ ...journalOrigin(row), changes: await parsed(parts) });
    if (entries.length > 0) yield entries;
    await setImmediate();
  }
}

interface Gathered {
  readonly row: PartRow;
  readonly parts: string[];
}

/** Whole entries until there are enough, and the revision to go on from. */
function gather(rows: Iterable<PartRow>, lower: number): { gathered: readonly Gathered[]; next: number } {
  const gathered: Gathered[] = [];
  let characters = 0;
  for (const row of rows) {
    const last = gathered.at(-1);
    if (last?.row.revision === row.revision) last.parts.push(row.changes);
    else if (characters > charactersPerPage) break;
    else gathered.push({ row, parts: [row.changes] });
    characters += row.changes.length;
  }
  // What comes after so many may have been left out.
  return { gathered, next: characters > charactersPerPage ? gathered.at(-1)!.row.revision - 1 : lower };
}

async function parsed(texts: readonly string[]): Promise<JournalChanges> {
  if (texts.length === 1) return JSON.parse(texts[0]!) as JournalChanges;
  const parts: JournalChanges[] = [];
  for (const text of texts) {
    parts.push(JSON.parse(text) as JournalChanges);
    await setImmediate();
  }
  return joinChanges(parts);
}

type Moment = Pick<JournalEntry, 'revision' | 'time'>;

/** Finds the latest revision of a time by halving: times grow with revisions, unless the clock was set back. `from` is the first entry from a revision on. */
export async function revisionAt(
  time: number,
  latest: number,
  from: (revision: number) => Moment | undefined | Promise<Moment | undefined>,
): Promise<number | undefined> {
  const oldest = await from(0);
  if (!oldest) return undefined;
  // What came before the first of all is known: nothing.
  if (oldest.time > time) return oldest.revision === 1 ? 0 : undefined;
  let low = oldest.revision;
  let high = latest;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const found = await from(middle);
    if (found && found.time <= time) low = found.revision;
    else high = middle - 1;
  }
  return low;
}
