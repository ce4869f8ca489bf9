import type { ClientBase } from 'pg';
import type { ChangeSet, NewSet } from '../database.ts';
import { journalTable } from '../own-tables.ts';

type Reader = Pick<ClientBase, 'query'>;

interface Mark {
  readonly revision: number;
  readonly time: number;
}

const newest = `select revision, time from ${journalTable} where part = 0 order by revision desc limit 1`;
const at = `select revision, time from ${journalTable} where revision = $1 and part = 0`;

/**
 * Tells whether the database still has the past that this process knows. A database that was restored from a backup, or a replica that took
 * over without the last commits, counts on from an earlier state: its numbers may soon be those of before, of other changes.
 */
export class History {
  /** The newest entry of the journal that this process has read or written. */
  #mark: Mark | undefined;

  /** Everything was read from the beginning. */
  async begin(reader: Reader): Promise<void> {
    this.#mark = (await reader.query<Mark>(newest)).rows[0];
  }

  note(sets: readonly (ChangeSet | NewSet)[] | undefined): void {
    for (const { journal } of sets ?? [])
      if (journal && journal.revision > (this.#mark?.revision ?? 0))
        this.#mark = { revision: journal.revision, time: journal.time };
  }

  async isTheSame(reader: Reader): Promise<boolean> {
    if (!this.#mark) return true;
    const { revision, time } = this.#mark;
    return (await reader.query<Mark>(at, [revision])).rows[0]?.time === time;
  }
}
