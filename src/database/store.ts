import { Fault } from '../core/errors.ts';
import { ChangeLine } from './change-line.ts';
import type { Origin } from './changeset.ts';
import { AuditQueue, auditText } from './audit-queue.ts';
import { type AuditRecord, type Batch, type ChangeSet, type Database, WriteClash } from './database.ts';
import { Feed, type Listener, type Reload } from './feed.ts';
import { Past } from './past.ts';
import { type Compute, isObservation, numbered, type Pending, setsOf, unbegun, withSets } from './pending.ts';
import { reload } from './reload.ts';
import { Snapshot } from './snapshot.ts';

interface Committed {
  readonly revision: number;
  readonly snapshot: Snapshot;
}

interface PendingAudit {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What is on its way to the database. */
interface Taken {
  readonly pendings: readonly Pending[];
  readonly audits: readonly PendingAudit[];
  readonly laterAudits: string[];
  /** What `head` is with them; undefined: there is nothing. */
  readonly after: Snapshot | undefined;
  readonly batch: Batch;
}

const nothingTaken: Taken = {
  pendings: [],
  audits: [],
  laterAudits: [],
  after: undefined,
  batch: { base: undefined, sets: [], audit: [] },
};

/** How long what nobody waits for may wait: audit records of reads, and another try after a failure. */
const laterDelay = 500;
/** Milliseconds: longer than from one look at the database to the next. */
const longestTrust = 3_000;
/** Milliseconds without a word of the database that are usual on a busy machine. */
const longestSilence = 6_000;
const maximumQueuedAudits = 100_000;

/**
 * The cluster's data. Readers see `current`, which is on disk. Change sets are computed one after another on `head`, which
 * holds those still on their way to disk, and all that wait are committed together. While a long one is computed in slices,
 * others can read, and those that want to change something wait. What other processes commit is followed: `current` is never
 * behind for longer than the database takes to report it. After a change of theirs all that waits is computed again; observations, such
 * as the status of a node, come in between without that.
 */
export class Store {
  /** What was there before. */
  readonly past: Past;
  readonly #database: Database;
  readonly #feed: Feed;
  readonly #failed: (error: unknown) => void;
  readonly #unwatch: () => void;
  readonly #line: ChangeLine;
  #audits: PendingAudit[] = [];
  /** Audit records that nobody waits for. */
  readonly #laterAudits = new AuditQueue();
  /** Somebody else may have committed. */
  #isBehind = false;
  /** The sequence up to which others have committed, as far as that is known. */
  #latest = 0;
  #working: Promise<void> | undefined;
  #laterTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Why the latest batch could not be written. */
  #writeFailed: Fault | undefined;
  /** Since when others cannot be followed, in milliseconds. */
  #followFailed: number | undefined;
  #batches = 0;
  #sets = 0;
  #writeTime = 0;

  private constructor(database: Database, snapshot: Snapshot, failed: (error: unknown) => void) {
    this.#database = database;
    this.#feed = new Feed(database, snapshot);
    this.past = new Past(database, snapshot);
    this.#feed.subscribe((current) => this.past.note(current));
    this.#failed = failed;
    this.#line = new ChangeLine(snapshot, () => this.#schedule());
    const changed = (latest = Infinity): void => {
      if (latest <= this.current.sequence) return;
      this.#latest = Math.max(this.#latest, latest);
      this.#isBehind = true;
      this.#schedule();
    };
    this.#unwatch = database.watch(changed, () => this.current.sequence);
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
    return !this.#writeFailed && this.#followFailed === undefined && this.age === 0;
  }

  /** Seconds for which nobody knows whether others have committed: what is read may be that old. 0 if it is as new as can be. */
  get age(): number {
    const behind = this.#followFailed === undefined ? 0 : performance.now() - this.#followFailed;
    const silence = Math.max(this.#database.silence(), behind);
    return silence < longestSilence ? 0 : Math.round(silence / 1_000);
  }

  /** False while what others have committed cannot be read. */
  get isFollowing(): boolean {
    return this.#followFailed === undefined;
  }

  /** Others may have committed since anything was heard of the database, and this process does not know yet: it may have been suspended. */
  get mayBeBehind(): boolean {
    return this.isFollowing && this.#database.silence() > longestTrust;
  }

  /** What was written, and what waits. */
  get load(): { readonly batches: number; readonly sets: number; readonly seconds: number; readonly waiting: number } {
    const waiting = this.#line.length + this.#audits.length + this.#laterAudits.length;
    return { batches: this.#batches, sets: this.#sets, seconds: this.#writeTime / 1_000, waiting };
  }

  /** The database with all accepted changes, also those that are not on disk yet: what a new change set is computed from. */
  get head(): Snapshot {
    return this.#line.head;
  }

  /** Computes a change set on the newest state; resolves when it is on disk. Volatile columns alone get no journal entry and no revision. */
  change(origin: Origin, compute: Compute): Promise<Committed> {
    return new Promise((resolve, reject) => {
      const committed: Pending['committed'] = (revision, after) => resolve({ revision, snapshot: after! });
      const asked = { origin, compute, audit: undefined, committed, reject };
      this.#line.add({ ...unbegun, ...asked, observes: false, keepsAfter: true });
    });
  }

  /**
   * Writes what somebody has seen, such as the status of nodes, into volatile columns of rows that are there. Whoever writes last wins, and
   * no change waits for it or fails because of it.
   */
  observe(origin: Origin, compute: Compute): Promise<void> {
    return new Promise((resolve, reject) => {
      const asked = { origin, compute, audit: undefined, committed: () => resolve(), reject };
      this.#line.add({ ...unbegun, ...asked, observes: true, keepsAfter: false });
    });
  }

  /** The same with a record, for who needs no more than the revision. */
  commit(origin: Origin, compute: Compute, audit: AuditRecord | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      const asked = { origin, compute, audit, committed: resolve, reject };
      this.#line.add({ ...unbegun, ...asked, observes: false, keepsAfter: false });
    });
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

  /** Resolves when what others have committed by now is followed, or cannot be read. */
  async refresh(): Promise<void> {
    this.#isBehind = true;
    this.#latest = Infinity;
    this.#schedule();
    // What is under way may have asked before.
    for (let turns = 0; turns < 2 && this.#isBehind; turns++) await this.#working;
  }

  /** Resolves when everything accepted so far is on disk. */
  async flush(): Promise<void> {
    clearTimeout(this.#laterTimer);
    this.#laterTimer = undefined;
    while (this.#isWaitedFor() || this.#laterAudits.length > 0 || this.#working) {
      await this.#line.computing;
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

  /** Whether there is anything that somebody waits for. */
  #isWaitedFor(): boolean {
    return this.#line.length + this.#audits.length > 0;
  }

  #schedule(): void {
    this.#working ??= new Promise<void>((resolve) => {
      // One turn of the event loop lets requests that arrived together share the commit.
      setImmediate(() => {
        void this.#work().finally(() => {
          this.#working = undefined;
          resolve();
          // Others may have committed while their last change was followed.
          const isBehind = this.#isBehind && this.#followFailed === undefined;
          if (this.#line.ready + this.#audits.length > 0 || isBehind) this.#schedule();
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
    if (this.#line.ready + this.#audits.length + this.#laterAudits.length > 0) await this.#writeBatch();
    if (this.#isBehind) await this.#followOthers(this.current.fence, this.#latest);
  }

  async #writeBatch(): Promise<void> {
    let taken = this.#gather();
    const began = performance.now();
    const again = async (latest?: number): Promise<Batch> => {
      await this.#computeOnNewest(taken, latest, () => (taken = nothingTaken));
      taken = this.#gather();
      return taken.batch;
    };
    let last: number;
    try {
      last = await this.#write(() => taken.batch, again);
    } catch (error) {
      this.#refuse(taken, error);
      return;
    }
    const { pendings, audits, after, batch } = taken;
    const { sets } = batch;
    this.#writeFailed = undefined;
    this.#batches++;
    this.#sets += sets.length;
    this.#writeTime += performance.now() - began;
    const { sequence, fence } = this.current;
    const isNext = sets.length === 0 || last === sequence + sets.length;
    // What others have observed came before it, and is read together with it.
    if (!isNext) await this.#followOthers(after!.fence);
    const read = isNext || this.current.sequence < last ? undefined : this.current;
    for (const { committed, revision, after: own } of pendings) committed(revision, read ?? own);
    for (const { resolve } of audits) resolve();
    if (isNext && sets.length > 0) this.#feed.publish(after!, numbered(sets, sequence, fence));
  }

  /** A database that cannot keep others out while a batch is computed again leaves that to us. */
  async #write(batch: () => Batch, again: (latest?: number) => Promise<Batch>): Promise<number> {
    for (;;) {
      try {
        return await this.#database.write(batch(), again);
      } catch (error) {
        if (!(error instanceof WriteClash)) throw error;
        await again();
      }
    }
  }

  /** All that waits to be written. */
  #gather(): Taken {
    const pendings = this.#line.take();
    const audits = this.#audits;
    const laterAudits = this.#laterAudits.take();
    this.#audits = [];
    const audit = laterAudits.concat(audits.map(({ text }) => text));
    for (const pending of pendings) if (pending.audit) audit.push(auditText(pending.audit));
    const base = pendings.every(isObservation) ? undefined : this.current.fence;
    const batch = { base, sets: setsOf(pendings, Date.now()), audit };
    return { pendings, audits, laterAudits, after: this.#line.head, batch };
  }

  /** Others have committed since: what was taken waits again, and is computed on what `current` is then. `returned` hears that it waits. */
  async #computeOnNewest(
    { pendings, audits, laterAudits }: Taken,
    latest: number | undefined,
    returned: () => void,
  ): Promise<void> {
    let waiting: readonly Pending[] | undefined = pendings;
    const compute = (): void => {
      if (waiting) {
        this.#laterAudits.giveBack(laterAudits);
        this.#audits = [...audits, ...this.#audits];
        returned();
      }
      this.#line.computeAgain(this.current, waiting ?? []);
      waiting = undefined;
    };
    try {
      await this.#catchUp(compute, latest);
    } catch (error) {
      this.#isBehind = true;
      this.#latest = Infinity;
      throw error;
    }
    if (waiting) compute();
    while (this.#line.ready === 0 && this.#line.computing) await this.#line.computing;
  }

  /** What could not be written fails; audit records that nobody waits for are kept for another try. */
  #refuse({ pendings, audits, laterAudits }: Taken, error: unknown): void {
    this.#laterAudits.giveBack(laterAudits);
    const sentence = 'The database could not be written; nothing was changed.';
    const fault = error instanceof Fault ? error : new Fault('unavailable', sentence, { retryAfter: 5, cause: error });
    this.#writeFailed = fault;
    for (const { reject } of [...pendings, ...audits]) reject(fault);
    this.#line.computeAgain(this.current, []);
  }

  /** `fence` is what `current` has if others have only observed. */
  async #followOthers(fence: number, latest = Infinity): Promise<void> {
    this.#latest = 0;
    try {
      await this.#catchUp((isReload) => {
        if (isReload || this.current.fence > fence) this.#line.computeAgain(this.current, []);
        else if (this.current.fence === fence) this.#line.goOn(this.current);
      }, latest);
    } catch (error) {
      this.#isBehind = true;
      this.#latest = Infinity;
      if (this.#followFailed === undefined) this.#failed(error);
      this.#followFailed ??= performance.now() - this.#database.silence();
    }
  }

  /**
   * Takes over what others have committed, up to `latest` if that is known. `moved` brings `head` along before anybody else gets a turn;
   * after a reload nothing of what was there before need be there.
   */
  async #catchUp(moved: (isReload: boolean) => void, latest = Infinity): Promise<void> {
    this.#isBehind = false;
    while (this.current.sequence < latest) {
      const sets = await this.#database.changesAfter(this.current.sequence);
      if (sets?.length === 0) break;
      const { snapshot, skipped } = sets
        ? { snapshot: withSets(this.current, sets) }
        : await reload(this.#database, this.current);
      this.#feed.publish(snapshot, sets, skipped);
      moved(sets === undefined);
    }
    this.#followFailed = undefined;
  }
}
