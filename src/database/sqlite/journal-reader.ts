import { setImmediate } from 'node:timers/promises';
import type SQLite from 'better-sqlite3';
import type { JournalChanges } from '../changeset.ts';
import { type JournalEntry, JournalGap, type JournalQuery } from '../database.ts';
import { charactersPerPage, journalConditions, type PartRow, readEntries, revisionAt } from '../journal-entries.ts';
import { journalTable } from '../own-tables.ts';

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

  revisionAt(time: number): Promise<number | undefined> {
    return revisionAt(time, this.#latest.get() as number, (revision) => this.from(revision));
  }

  entries(query: JournalQuery): AsyncGenerator<readonly JournalEntry[], void, void> {
    const wanted = journalConditions(query, 'instr(changes, ?)');
    const conditions = wanted.map(([condition]) => ` and ${condition}`).join('');
    const statement = this.#reader.prepare(
      `select * from ${journalTable} where revision > ? and revision <= ?${conditions} order by revision desc, part`,
    );
    const texts = wanted.flatMap(([, each]) => each);
    return readEntries((after, until) => statement.iterate(after, until, ...texts) as Iterable<PartRow>, query);
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
