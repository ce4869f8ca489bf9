import type { Pool } from 'pg';
import type { JournalChanges } from '../changeset.ts';
import { type JournalEntry, JournalGap, type JournalQuery } from '../database.ts';
import { charactersPerPage, journalConditions, type PartRow, readEntries, revisionAt } from '../journal-entries.ts';
import { journalTable } from '../own-tables.ts';

/** More than characters, of which the longest has three bytes. */
const bytesPerPage = 4 * charactersPerPage;
const partsPerPage = 1_000;

/** Reads the journal in pieces. */
export class JournalReader {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The first entry from that revision on. */
  async from(revision: number): Promise<Pick<JournalEntry, 'revision' | 'time'> | undefined> {
    const text = `select revision, time from ${journalTable} where revision >= $1 order by revision limit 1`;
    return (await this.#pool.query<Pick<JournalEntry, 'revision' | 'time'>>(text, [revision])).rows[0];
  }

  async revisionAt(time: number): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ latest: number }>(
      `select coalesce(max(revision), 0) as latest from ${journalTable}`,
    );
    return revisionAt(time, rows[0]!.latest, (revision) => this.from(revision));
  }

  entries(query: JournalQuery): AsyncGenerator<readonly JournalEntry[], void, void> {
    let parameters = 2;
    const wanted = journalConditions(query, 'position(? in changes) > 0');
    const conditions = wanted.map(([condition]) => ` and ${condition.replaceAll('?', () => `$${++parameters}`)}`);
    const found = `select * from ${journalTable} where revision > $1 and revision <= $2${conditions.join('')}`;
    const text = `select * from (${wholeWithin(found, 'revision', 'desc')}) sized where before <= ${bytesPerPage}
      order by revision desc, part`;
    const texts = wanted.flatMap(([, each]) => each);
    const rowsBetween = async (after: number, until: number): Promise<PartRow[]> =>
      (await this.#pool.query<PartRow>(text, [after, until, ...texts])).rows;
    return readEntries(rowsBetween, query);
  }

  async *changes(after: number, until: number): AsyncGenerator<readonly JournalChanges[], void, void> {
    const page = `select revision, part, changes from ${journalTable}
      where (revision, part) > ($1, $2) and revision <= $3 order by revision, part limit ${partsPerPage}`;
    const text = `select * from (${wholeWithin(page, 'revision', 'asc')}) sized where before <= ${bytesPerPage}
      order by revision, part`;
    const mostParts = Number.MAX_SAFE_INTEGER;
    let [last, part] = [after, mostParts];
    while (last < until) {
      const { rows } = await this.#pool.query<{ revision: number; part: number; changes: string }>(text, [
        last,
        part,
        until,
      ]);
      for (const row of rows) {
        if (row.revision > last + 1) throw new JournalGap();
        ({ revision: last, part } = row);
      }
      if (rows.length === 0) {
        if (last !== until) throw new JournalGap();
        return;
      }
      // One text is parsed faster than many.
      yield JSON.parse(`[${rows.map(({ changes }) => changes).join()}]`) as JournalChanges[];
    }
    yield* this.#restOf(until, part);
  }

  /** What is left of the last entry. */
  async *#restOf(revision: number, after: number): AsyncGenerator<readonly JournalChanges[], void, void> {
    const text = `select changes from ${journalTable} where revision = $1 and part > $2 order by part`;
    const { rows } = await this.#pool.query<{ changes: string }>(text, [revision, after]);
    for (const { changes } of rows) yield [JSON.parse(changes) as JournalChanges];
  }
}

/** A query's rows, with the bytes of the changes of all rows that come before them and have another value in the column. */
export const wholeWithin = (
  query: string,
  column: string,
  order: 'asc' | 'desc',
  size = 'octet_length(changes)',
): string => `select *, sum(${size}) over (order by ${column} ${order}) - sum(${size}) over (partition by ${column}) as before
  from (${query}) found`;
