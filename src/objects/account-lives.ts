import type { ChangeSet, JournalEntry } from '../database/database.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { accountsTurnedOver, turnoversIn, turnoverTables } from './accounts.ts';

/**
 * Up to which revision the name of an account was somebody else's: one that was removed and made again belongs to another person. The
 * journal is read when somebody asks for the first time, and not before.
 */
export class AccountLives {
  readonly #store: Store;
  readonly #span: number;
  /** By account, the revision at which it was last made or removed. */
  readonly #turned = new Map<string, number>();
  #known: Promise<number> | undefined;

  /** `span`: milliseconds for which it is known. */
  constructor(store: Store, span: number) {
    this.#store = store;
    this.#span = span;
  }

  /** Notes what has changed, and returns the accounts that were turned over. */
  note(
    was: Snapshot,
    current: Snapshot,
    sets: readonly ChangeSet[] | undefined,
    skipped: readonly JournalEntry[] | undefined,
  ): string[] {
    const turned = accountsTurnedOver(was, current, sets, skipped);
    for (const [account, revision] of turned) this.#turn(account, revision);
    return turned.map(([account]) => account);
  }

  /** Whether the account is whose it was at that revision. */
  async isSameSince(account: string, revision: number): Promise<boolean> {
    if ((this.#turned.get(account) ?? 0) > revision) return false;
    const since = await (this.#known ??= this.#read());
    return revision >= since && (this.#turned.get(account) ?? 0) <= revision;
  }

  #turn(account: string, revision: number): void {
    this.#turned.set(account, Math.max(revision, this.#turned.get(account) ?? 0));
  }

  /** Reads the journal; returns the revision since which everything is known. */
  async #read(): Promise<number> {
    const { database, current } = this.#store;
    try {
      const oldest = await database.oldestEntry();
      const first = oldest ? oldest.revision - 1 : current.revision;
      const after = (await database.revisionAt(Date.now() - this.#span)) ?? first;
      for await (const page of database.readJournal({ after, until: current.revision, tables: turnoverTables }))
        for (const { changes, revision } of page)
          for (const account of turnoversIn(changes)) this.#turn(account, revision);
      return after;
    } catch (error) {
      // Whoever asks next reads again.
      this.#known = undefined;
      throw error;
    }
  }
}
