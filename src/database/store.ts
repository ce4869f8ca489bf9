import { Fault } from '../core/errors.ts';
import {
  decodeChanges,
  encodeChanges,
  isVolatile,
  type JournalChanges,
  type Origin,
  type RowChange,
} from './changeset.ts';
import { auditText } from './audit-text.ts';
import { type AuditRecord, type Database, RevisionClash, type WriteSet } from './database.ts';
import { Snapshot } from './snapshot.ts';

export type Compute = (head: Snapshot) => readonly RowChange[];

export interface Committed {
  readonly revision: number;
  readonly snapshot: Snapshot;
}

interface Pending {
  readonly origin: Origin;
  readonly compute: Compute;
  readonly audit: AuditRecord | undefined;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
  changes: JournalChanges;
  journalled: boolean;
  after: Snapshot;
}

interface PendingAudit {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const readAuditDelay = 500;
const maximumQueuedAudits = 100_000;

/**
 * The cluster's data. Readers see `current`, which is on disk. Change sets are computed one after another on `head`, which
 * holds those still on their way to disk, and all that wait are committed together.
 */
export class Store {
  readonly #database: Database;
  #current: Snapshot;
  #head: Snapshot;
  #queue: Pending[] = [];
  #audits: PendingAudit[] = [];
  /** Audit records that nobody waits for. */
  #laterAudits: string[] = [];
  #writing: Promise<void> | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #failure: unknown;
  readonly #listeners = new Set<(current: Snapshot) => void>();

  private constructor(database: Database, snapshot: Snapshot) {
    this.#database = database;
    this.#current = snapshot;
    this.#head = snapshot;
  }

  static async open(database: Database): Promise<Store> {
    const { revision, tables } = await database.load();
    return new Store(database, Snapshot.of(revision, tables));
  }

  get current(): Snapshot {
    return this.#current;
  }

  get database(): Database {
    return this.#database;
  }

  /** False after a write failed, until one succeeds again. */
  get healthy(): boolean {
    return this.#failure === undefined;
  }

  /** The database with all accepted changes, also those that are not on disk yet: what a new change set is computed from. */
  get head(): Snapshot {
    return this.#head;
  }

  /**
   * Computes a change set on the newest state and resolves when it is on disk. What `compute` throws is passed on. One that
   * touches volatile columns only gets no journal entry and no revision.
   */
  change(origin: Origin, compute: Compute, audit?: AuditRecord): Promise<Committed> {
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        origin,
        compute,
        audit,
        resolve,
        reject,
        changes: {},
        journalled: false,
        after: this.#head,
      };
      if (this.#compute(pending)) {
        this.#queue.push(pending);
        this.#schedule();
      }
    });
  }

  /** Tells of each new `current` before those who waited for it hear of it, until the returned function is called. */
  onCommit(listener: (current: Snapshot) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the record is on disk. */
  audit(record: AuditRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#audits.push({ text: auditText(record), resolve, reject });
      this.#schedule();
    });
  }

  /** Keeps a record that may reach the disk up to a second later. */
  auditSoon(record: AuditRecord): void {
    if (this.#laterAudits.length >= maximumQueuedAudits) {
      throw new Fault('unavailable', 'The audit log cannot keep up; try again shortly.', { retryAfter: 1 });
    }
    this.#laterAudits.push(auditText(record));
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      this.#schedule();
    }, readAuditDelay).unref();
  }

  /** Resolves when everything accepted so far is on disk. */
  async flush(): Promise<void> {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    while (this.#queue.length + this.#audits.length + this.#laterAudits.length > 0 || this.#writing) {
      this.#schedule();
      await this.#writing;
      // What cannot be written now stays for later; waiting for it here would be for ever.
      if (this.#failure !== undefined) return;
    }
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#database.close();
  }

  #compute(pending: Pending): boolean {
    let changes: readonly RowChange[];
    try {
      changes = pending.compute(this.#head);
    } catch (error) {
      pending.reject(error);
      return false;
    }
    pending.changes = encodeChanges(changes);
    pending.journalled = !isVolatile(pending.changes);
    if (changes.length > 0) this.#head = this.#head.apply(changes, this.#head.revision + (pending.journalled ? 1 : 0));
    pending.after = this.#head;
    return true;
  }

  #schedule(): void {
    this.#writing ??= new Promise<void>((resolve) => {
      // One turn of the event loop lets requests that arrived together share the commit.
      setImmediate(() => {
        void this.#writeBatch().finally(() => {
          this.#writing = undefined;
          resolve();
          if (this.#queue.length + this.#audits.length > 0) this.#schedule();
        });
      });
    });
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#queue;
    const audits = this.#audits;
    const laterAudits = this.#laterAudits;
    this.#queue = [];
    this.#audits = [];
    this.#laterAudits = [];
    if (batch.length + audits.length + laterAudits.length === 0) return;
    const time = Date.now();
    const sets: WriteSet[] = [];
    for (const { origin, changes, after, journalled } of batch) {
      if (Object.keys(changes).length === 0) continue;
      sets.push({ changes, journal: journalled ? { ...origin, revision: after.revision, time } : undefined });
    }
    const audit = laterAudits.concat(audits.map(({ text }) => text));
    for (const pending of batch) if (pending.audit) audit.push(auditText(pending.audit));
    try {
      await this.#database.write({ base: this.#current.revision, sets, audit });
    } catch (error) {
      this.#laterAudits = laterAudits.concat(this.#laterAudits);
      await this.#recover(error, batch, audits);
      return;
    }
    this.#failure = undefined;
    const last = batch.at(-1);
    if (last) this.#publish(last.after);
    for (const { resolve, after } of batch) resolve({ revision: after.revision, snapshot: after });
    for (const { resolve } of audits) resolve();
  }

  /** After a clash all waiting change sets are computed anew on the newer state; after a failure those of the batch fail. */
  async #recover(error: unknown, batch: readonly Pending[], audits: readonly PendingAudit[]): Promise<void> {
    const clash = error instanceof RevisionClash && (await this.#catchUp());
    if (clash) {
      this.#audits = [...audits, ...this.#audits];
    } else {
      this.#failure = error;
      const sentence = 'The database could not be written; nothing was changed.';
      const fault = new Fault('unavailable', sentence, { retryAfter: 5, cause: error });
      for (const { reject } of [...batch, ...audits]) reject(fault);
    }
    this.#head = this.#current;
    const waiting = clash ? [...batch, ...this.#queue] : this.#queue;
    this.#queue = waiting.filter((pending) => this.#compute(pending));
  }

  /** Reads what others committed from the journal; false if that fails or the journal does not lead on from here. */
  async #catchUp(): Promise<boolean> {
    let snapshot = this.#current;
    const entries = await this.#database.journalAfter(snapshot.revision).catch(() => undefined);
    if (!entries || entries.length === 0) return false;
    for (const entry of entries) {
      const base = snapshot;
      if (entry.revision !== base.revision + 1) return false;
      snapshot = base.apply(
        decodeChanges(entry.changes, (table, key) => base.get(table, key)),
        entry.revision,
      );
    }
    this.#publish(snapshot);
    return true;
  }

  #publish(snapshot: Snapshot): void {
    this.#current = snapshot;
    for (const listener of this.#listeners) listener(snapshot);
  }
}
