import { setImmediate } from 'node:timers/promises';
import type SQLite from 'better-sqlite3';
import { joinChanges, type JournalChanges } from '../changeset.ts';
import { type ChangeSet, type JournalEntry, JournalGap, type JournalQuery } from '../database.ts';
import { journalTable } from './statements.ts';

/** Revisions that are looked through at once: few at first, since whoever reads often wants only the newest. */
const firstWindow = 256;
const largestWindow = 4_096;
/** Characters of entries that are read and parsed at once. */
const charactersPerPage = 100_000;

type Stored = NonNullable<ChangeSet['journal']>;
type PartRow = Omit<Stored, 'reverts'> & { readonly reverts: number | null; readonly changes: string };

/** What an entry says of its origin; absent is what it does not say. */
export function journalOrigin(row: Omit<Stored, 'reverts'> & { readonly reverts?: number | null | undefined }): Stored {
  const { revision, time, user, client, command, run, reverts } = row;
  return { revision, time, user, client, command, run, ...(reverts ? { reverts } : {}) };
}

interface Gathered {
  readonly row: PartRow;
  readonly parts: string[];
}

/** Reads the journal in pieces, each in one go of a few milliseconds. */
export class JournalReader {
  readonly #reader: SQLite.Database;
  readonly #from: SQLite.Statement;
  readonly #changes: SQLite.Statement;
  readonly #rowBefore: SQLite.Statement;
  readonly #latest: SQLite.Statement;

  constructor(reader: SQLite.Database) {
    this.#reader = reader;
    this.#from = reader.prepare(
      `select revision, time from ${journalTable} where revision >= ? order by revision limit 1`,
    );
    // Rows lie in the order in which they were written, and are read the fastest in that.
    this.#changes = reader
      .prepare(`select rowid, revision, changes from ${journalTable} where rowid > ? order by rowid`)
      .raw();
    this.#rowBefore = reader
      .prepare(`select rowid - 1 from ${journalTable} where revision >= ? order by revision, part limit 1`)
      .pluck();
    this.#latest = reader.prepare(`select max(revision) from ${journalTable}`).pluck();
  }

  /** The first entry from that revision on. */
  from(revision: number): Pick<JournalEntry, 'revision' | 'time'> | undefined {
    return this.#from.get(revision) as Pick<JournalEntry, 'revision' | 'time'> | undefined;
  }

  /** Found by halving: times grow with revisions, unless the clock was set back. */
  revisionAt(time: number): number | undefined {
    const oldest = this.from(0);
    if (!oldest) return undefined;
    // What came before the first of all is known: nothing.
    if (oldest.time > time) return oldest.revision === 1 ? 0 : undefined;
    let low = oldest.revision;
    let high = this.#latest.get() as number;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const found = this.from(middle);
      if (found && found.time <= time) low = found.revision;
      else high = middle - 1;
    }
    return low;
  }

  async *entries(query: JournalQuery): AsyncGenerator<readonly JournalEntry[], void, void> {
    const { after, until } = query;
    const wanted = conditionsOf(query);
    const conditions = wanted.map(([condition]) => ` and ${condition}`).join('');
    const statement = this.#reader.prepare(
      `select * from ${journalTable} where revision > ? and revision <= ?${conditions} order by revision desc, part`,
    );
    const values = wanted.flatMap(([, texts]) => texts);
    let window = firstWindow;
    for (let upper = until; upper > after; ) {
      const lower = Math.max(after, upper - window);
      const { gathered, next } = gather(statement.iterate(lower, upper, ...values) as Iterable<PartRow>, lower);
      upper = next;
      window = Math.min(2 * window, largestWindow);
      const entries: JournalEntry[] = [];
      for (const { row, parts } of gathered) entries.push({ ...journalOrigin(row), changes: await parsed(parts) });
      if (entries.length > 0) yield entries;
      await setImmediate();
    }
  }

  async *changes(after: number, until: number): AsyncGenerator<readonly JournalChanges[], void, void> {
    let last = after;
    let row = (this.#rowBefore.get(after + 1) as number | null) ?? 0;
    for (let isMore = last < until; isMore; ) {
      isMore = false;
      let text = '';
      for (const [at, revision, changes] of this.#changes.iterate(row) as Iterable<readonly [number, number, string]>) {
        if (revision > until) break;
        if ((isMore = text.length > charactersPerPage)) break;
        if (revision > last + 1) throw new JournalGap();
        text += text === '' ? changes : `,${changes}`;
        last = revision;
        row = at;
      }
      // One text is parsed faster than many.
      if (text !== '') yield JSON.parse(`[${text}]`) as JournalChanges[];
      if (isMore) await setImmediate();
    }
    if (last !== until) throw new JournalGap();
  }
}

type Condition = readonly [sql: string, texts: readonly string[]];

/** More texts are not looked for: to read the entries is faster. */
const mostTexts = 16;

function conditionsOf({ user, command, tables, names }: JournalQuery): Condition[] {
  const contains = (texts: readonly string[] | undefined): Condition[] =>
    texts && texts.length > 0 && texts.length <= mostTexts
      ? [[`(${texts.map(() => 'instr(changes, ?)').join(' or ')})`, texts]]
      : [];
  return [
    ...(user === undefined ? [] : [['"user" = ?', [user]] as const]),
    ...(command === undefined ? [] : [['command = ?', [command]] as const]),
    // As JSON has them: a key of several columns begins with the first.
    ...contains(tables?.map((table) => `${JSON.stringify(table)}:[`)),
    ...contains(names?.flatMap((name) => [JSON.stringify(name), `${JSON.stringify(name).slice(0, -1)}\\u0000`])),
  ];
}

/** Whole entries until there are enough, and the revision to go on from. */
function gather(rows: Iterable<PartRow>, lower: number): { gathered: readonly Gathered[]; next: number } {
  const gathered: Gathered[] = [];
  let characters = 0;
  for (const row of rows) {
    const last = gathered.at(-1);
    if (last?.row.revision === row.revision) last.parts.push(row.changes);
    else if (characters > charactersPerPage) return { gathered, next: last!.row.revision - 1 };
    else gathered.push({ row, parts: [row.changes] });
    characters += row.changes.length;
  }
  return { gathered, next: lower };
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
