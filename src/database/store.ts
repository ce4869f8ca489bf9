import { Fault } from '../core/errors.ts';
import { inSlices, type Interruptible } from '../core/slices.ts';
import {
  decodeChanges,
  encodeChanges,
  isVolatile,
  type JournalChanges,
  type Origin,
  type RowChange,
} from './changeset.ts';
import { AuditQueue, auditText } from './audit-queue.ts';
import { type AuditRecord, type ChangeSet, type Database, WriteClash } from './database.ts';
import { Feed, type Listener, type Reload } from './feed.ts';
import { Past } from './past.ts';
import { Snapshot } from './snapshot.ts';

type Compute = (head: Snapshot) => readonly RowChange[] | Interruptible<readonly RowChange[]>;

interface Committed {
  readonly revision: number;
  readonly snapshot: Snapshot;
}

interface Pending {
  readonly origin: Origin;
  readonly compute: Compute;
  readonly audit: AuditRecord | undefined;
  readonly committed: (revision: number, after: Snapshot | undefined) => void;
  readonly reject: (error: unknown) => void;
  changes: JournalChanges;
  journalled: boolean;
  /** Of the snapshot after it. */
  revision: number;
  sequence: number;
  /** That itself, which takes up much more than the change: only for who wants it. */
  after: Snapshot | undefined;
  readonly keepsAfter: boolean;
}

interface PendingAudit {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const unbegun = { changes: {}, journalled: false, revision: 0, sequence: 0, after: undefined } as const;

/** How long what nobody waits for may wait: audit records of reads, and another try after a failure. */
const laterDelay = 500;
const maximumQueuedAudits = 100_000;

/**
 * The cluster's data. Readers see `current`, which is on disk. Change sets are computed one after another on `head`, which
 * holds those still on their way to disk, and all that wait are committed together. While a long one is computed in slices,
 * others can read, and those that want to change something wait. What other processes commit is followed: `current` is never
 * behind for longer than the database takes to report it.
 */
export class Store {
  /** What was there before. */
  readonly past: Past;
  readonly #database: Database;
  readonly #feed: Feed;
  readonly #failed: (error: unknown) => void;
  readonly #unwatch: () => void;
  #head: Snapshot;
  /** To be computed. The first is under way, if any is. */
  #uncomputed: Pending[] = [];
  #computing: Promise<void> | undefined;
  /** To be written. */
  #queue: Pending[] = [];
  #audits: PendingAudit[] = [];
  /** Audit records that nobody waits for. */
  readonly #laterAudits = new AuditQueue();
  /** Somebody else may have committed. */
  #isBehind = false;
  #working: Promise<void> | undefined;
  #laterTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Why the latest batch could not be written. */
  #writeFailed: Fault | undefined;
  #followFailed = false;
  #batches = 0;
  #sets = 0;
  #writeTime = 0;

  private constructor(database: Database, snapshot: Snapshot, failed: (error: unknown) => void) {
    this.#database = database;
    this.#feed = new Feed(database, snapshot);
    this.past = new Past(database, snapshot);
    this.#feed.subscribe((current) => this.past.note(current));
    this.#failed = failed;
    this.#head = snapshot;
    this.#unwatch = database.watch(() => {
      this.#isBehind = true;
      this.#schedule();
    });
  }

  /** `failed` hears why what others have committed could not be read; it is tried again. */
  static async open(database: Database, failed: (error: unknown) => void = () => undefined): Promise<Store> {
    return new Store(database, Snapshot.of(await database.load()), failed);
  }

  get current(): Snapshot {
    return this.#feed.current;
  }

  get database(): Database {
    return this.#database;
  }

  /** False after the database could not be written or followed, until it can be again. */
  get healthy(): boolean {
    return !this.#writeFailed && !this.#followFailed;
  }

  /** What was written, and what waits. */
  get load(): { readonly batches: number; readonly sets: number; readonly seconds: number; readonly waiting: number } {
    const waiting = this.#uncomputed.length + this.#queue.length + this.#audits.length + this.#laterAudits.length;
    return { batches: this.#batches, sets: this.#sets, seconds: this.#writeTime / 1_000, waiting };
  }

  /** The database with all accepted changes, also those that are not on disk yet: what a new change set is computed from. */
  get head(): Snapshot {
    return this.#head;
  }

  /** Computes a change set on the newest state; resolves when it is on disk. Volatile columns alone get no journal entry and no revision. */
  change(origin: Origin, compute: Compute): Promise<Committed> {
    return new Promise((resolve, reject) => {
      const committed: Pending['committed'] = (revision, after) => resolve({ revision, snapshot: after! });
      this.#begin({ ...unbegun, origin, compute, audit: undefined, committed, reject, keepsAfter: true });
    });
  }

  /** The same with a record, for who needs no more than the revision. */
  commit(origin: Origin, compute: Compute, audit: AuditRecord | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#begin({ ...unbegun, origin, compute, audit, committed: resolve, reject, keepsAfter: false });
    });
  }

  #begin(pending: Pending): void {
    this.#uncomputed.push(pending);
    this.#computeNext();
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
      throw (
        this.#writeFailed ??
        new Fault('unavailable', 'The audit log cannot keep up; try again shortly.', { retryAfter: 1 })
      );
    }
    this.#laterAudits.add(record);
    this.#scheduleLater();
  }

  /** Calls the listener whenever `current` has become another, whoever changed it. Returns what ends that. */
  subscribe(listener: Listener): () => void {
    return this.#feed.subscribe(listener);
  }

  /** All change sets after that sequence, whoever committed them, until the signal says that it is enough; see `Feed`. */
  follow(from: number, signal: AbortSignal): AsyncGenerator<ChangeSet | Reload, void, undefined> {
    return this.#feed.follow(from, signal);
  }

  /** Waits until `current` has the revision or the signal says that it is enough; resolves with the revision that `current` has then. */
  async reach(revision: number, signal: AbortSignal): Promise<number> {
    while (this.current.revision < revision && !signal.aborted) await this.#feed.next(signal);
    return this.current.revision;
  }

  /** Resolves when everything accepted so far is on disk. */
  async flush(): Promise<void> {
    clearTimeout(this.#laterTimer);
    this.#laterTimer = undefined;
    while (this.#isWaitedFor() || this.#laterAudits.length > 0 || this.#working) {
      await this.#computing;
      this.#schedule();
      await this.#working;
      // What cannot be written now stays for later; waiting for it here would be for ever.
      if (this.#writeFailed) return;
    }
  }

  async close(): Promise<void> {
    this.#unwatch();
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#laterTimer);
    await this.#database.close();
  }

  /** Computes those that wait for it, until one takes longer. */
  #computeNext(): void {
    while (!this.#computing && this.#uncomputed.length > 0) {
      const head = this.#head;
      const first = this.#uncomputed[0]!;
      const computed = this.#settled(first, head);
      if (computed instanceof Promise) {
        this.#computing = computed.then((settle) => {
          this.#computing = undefined;
          this.#take(first, head, settle);
          return this.#computeNext();
        });
      } else this.#take(first, head, computed);
    }
  }

  /** Settles the first of them, unless others come before it now or what it was computed on is no longer what it will be written on. */
  #take(first: Pending, head: Snapshot, settle: () => void): void {
    if (this.#head !== head || this.#uncomputed[0] !== first) return;
    this.#uncomputed.shift();
    settle();
  }

  #settled(pending: Pending, head: Snapshot): (() => void) | Promise<() => void> {
    const accept = (after: Snapshot) => () => this.#accept(pending, after);
    const refuse = (error: unknown) => () => pending.reject(error);
    try {
      const computed = inSlices(this.#compute(pending, head), () => this.#head !== head);
      return computed instanceof Promise ? computed.then(accept, refuse) : accept(computed);
    } catch (error) {
      return refuse(error);
    }
  }

  /** The snapshot after it. */
  *#compute(pending: Pending, head: Snapshot): Interruptible<Snapshot> {
    const computed = pending.compute(head);
    const changes = 'next' in computed ? yield* computed : computed;
    pending.changes = encodeChanges(changes);
    yield;
    pending.journalled = !isVolatile(pending.changes);
    return changes.length > 0 ? head.apply(changes, head.revision + (pending.journalled ? 1 : 0)) : head;
  }

  #accept(pending: Pending, after: Snapshot): void {
    pending.revision = after.revision;
    pending.sequence = after.sequence;
    if (pending.keepsAfter) pending.after = after;
    this.#head = after;
    this.#queue.push(pending);
    this.#schedule();
  }

  /** Whether there is anything that somebody waits for. */
  #isWaitedFor(): boolean {
    return this.#uncomputed.length + this.#queue.length + this.#audits.length > 0;
  }

  #schedule(): void {
    this.#working ??= new Promise<void>((resolve) => {
      // One turn of the event loop lets requests that arrived together share the commit.
      setImmediate(() => {
        void this.#work().finally(() => {
          this.#working = undefined;
          resolve();
          if (this.#queue.length + this.#audits.length > 0) this.#schedule();
          else if (this.#laterAudits.length > 0 || this.#isBehind) this.#scheduleLater();
        });
      });
    });
  }

  #scheduleLater(): void {
    if (this.#isClosed) return;
    this.#laterTimer ??= setTimeout(() => {
      this.#laterTimer = undefined;
      this.#schedule();
    }, laterDelay).unref();
  }

  /** One at a time: nobody else moves `current` while a batch is written on it. */
  async #work(): Promise<void> {
    if (this.#queue.length + this.#audits.length + this.#laterAudits.length > 0) await this.#writeBatch();
    if (this.#isBehind) await this.#followOthers();
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#queue;
    const after = this.#head;
    const audits = this.#audits;
    const laterAudits = this.#laterAudits.take();
    this.#queue = [];
    this.#audits = [];
    const time = Date.now();
    const sets: ChangeSet[] = [];
    for (const { origin, changes, journalled, sequence, revision } of batch) {
      if (Object.keys(changes).length === 0) continue;
      sets.push({ sequence, changes, journal: journalled ? { ...origin, revision, time } : undefined });
    }
    const audit = laterAudits.concat(audits.map(({ text }) => text));
    for (const pending of batch) if (pending.audit) audit.push(auditText(pending.audit));
    const base = batch.length > 0 ? this.current.sequence : undefined;
    const began = performance.now();
    try {
      await this.#database.write({ base, sets, audit });
    } catch (error) {
      this.#laterAudits.giveBack(laterAudits);
      await this.#recover(error, batch, audits);
      return;
    }
    this.#writeFailed = undefined;
    this.#batches++;
    this.#sets += sets.length;
    this.#writeTime += performance.now() - began;
    for (const { committed, revision, after: own } of batch) committed(revision, own);
    for (const { resolve } of audits) resolve();
    if (batch.length > 0) this.#feed.publish(after, sets);
  }

  /** After a clash all waiting change sets are computed again on the newer state; after a failure those of the batch fail. */
  async #recover(error: unknown, batch: readonly Pending[], audits: readonly PendingAudit[]): Promise<void> {
    let cause = error;
    if (error instanceof WriteClash) {
      try {
        if (await this.#catchUp()) {
          this.#audits = [...audits, ...this.#audits];
          this.#computeAnew(batch);
          return;
        }
      } catch (failure) {
        cause = failure;
      }
    }
    const sentence = 'The database could not be written; nothing was changed.';
    const fault = cause instanceof Fault ? cause : new Fault('unavailable', sentence, { retryAfter: 5, cause });
    this.#writeFailed = fault;
    for (const { reject } of [...batch, ...audits]) reject(fault);
    this.#computeAnew([]);
  }

  async #followOthers(): Promise<void> {
    const before = this.current;
    try {
      await this.#catchUp();
    } catch (error) {
      this.#isBehind = true;
      if (!this.#followFailed) this.#failed(error);
      this.#followFailed = true;
    }
    if (this.current !== before) this.#computeAnew([]);
  }

  /** Takes over what others have committed since; false if there is nothing. */
  async #catchUp(): Promise<boolean> {
    const before = this.current;
    this.#isBehind = false;
    for (;;) {
      const sets = await this.#database.changesAfter(this.current.sequence);
      if (sets?.length === 0) break;
      this.#feed.publish(sets ? this.#after(sets) : Snapshot.of(await this.#database.load()), sets);
    }
    this.#followFailed = false;
    return this.current !== before;
  }

  /** What `current` is with these. */
  #after(sets: readonly ChangeSet[]): Snapshot {
    return sets.reduce((base, { changes, journal }) => {
      const decoded = decodeChanges(changes, (table, key) => base.get(table, key));
      return base.apply(decoded, journal?.revision ?? base.revision);
    }, this.current);
  }

  /** These and all that came after them, now that what they were computed on is no longer what they will be written on. */
  #computeAnew(batch: readonly Pending[]): void {
    this.#head = this.current;
    this.#uncomputed = [...batch, ...this.#queue, ...this.#uncomputed];
    this.#queue = [];
    this.#computeNext();
  }
}
