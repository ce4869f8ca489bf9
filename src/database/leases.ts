import type { Logger } from '../core/log.ts';
import type { SharedRecords } from './shared-records.ts';

/** Milliseconds. */
export interface LeaseTimes {
  /** A server that is not heard of for so long has lost what it kept. */
  readonly lease: number;
  readonly renewal: number;
  /** A holder stops so much earlier than others may begin. */
  readonly margin: number;
}

export const usualTimes: LeaseTimes = { lease: 15_000, renewal: 5_000, margin: 1_000 };

/** What servers have for the time of a lease and renew: that they are there, what they keep, what they work on. */
export const leasedKinds = { server: 'server', lease: 'lease', work: 'work' } as const;

/** Begins work that one server of a database does at a time; returns what ends it. */
type Begin = () => () => void;

interface Kept {
  readonly begin: Begin;
  readonly isAble: () => boolean;
  /** While the work goes on. */
  end: (() => void) | undefined;
  /** By the clock of this process, which goes on while it is suspended. */
  heldUntil: number;
  renewal: NodeJS.Timeout | undefined;
  expiry: NodeJS.Timeout | undefined;
}

/** Work that must be done once for all servers of a database: each piece has a name, and whichever server has the lease of it does it. */
export class Leases {
  readonly #shared: SharedRecords;
  readonly #holder: string;
  readonly #log: Logger;
  readonly #times: LeaseTimes;
  readonly #kept = new Map<string, Kept>();

  constructor(shared: SharedRecords, holder: string, log: Logger, times: LeaseTimes) {
    this.#shared = shared;
    this.#holder = holder;
    this.#log = log;
    this.#times = times;
  }

  /** Does the work whenever this server has the lease, until it is closed. While it is not able to, another one may have the lease. */
  keep(name: string, begin: Begin, isAble = () => true): void {
    const kept: Kept = { begin, isAble, end: undefined, heldUntil: 0, renewal: undefined, expiry: undefined };
    this.#kept.set(name, kept);
    if (this.#shared.isAlone) kept.end = begin();
    else void this.#renew(name, kept);
  }

  async close(): Promise<void> {
    const all = [...this.#kept];
    this.#kept.clear();
    for (const [, kept] of all) {
      clearTimeout(kept.renewal);
      this.#stop(kept);
    }
    if (this.#shared.isAlone) return;
    // Others need not wait until the time is over. If the database is away, they do.
    await Promise.allSettled(
      all.map(([name]) => this.#shared.release({ kind: leasedKinds.lease, name, holder: this.#holder })),
    );
  }

  async #renew(name: string, kept: Kept): Promise<void> {
    const { lease, renewal, margin } = this.#times;
    const asked = performance.now();
    try {
      const isOurs = kept.isAble()
        ? await this.#shared.claim({ kind: leasedKinds.lease, name, holder: this.#holder, body: '' }, lease)
        : await this.#giveUp(name, kept);
      if (this.#kept.get(name) !== kept) return;
      if (isOurs) this.#hold(name, kept, asked + lease - margin);
      else this.#stop(kept);
    } catch (error) {
      // The database is away: what is held is held until its time is over.
      this.#log.debug({ err: error }, `the lease of ${name} could not be renewed`);
    }
    if (this.#kept.get(name) === kept) kept.renewal = setTimeout(() => void this.#renew(name, kept), renewal).unref();
  }

  async #giveUp(name: string, kept: Kept): Promise<false> {
    const wasOurs = kept.end !== undefined;
    this.#stop(kept);
    if (wasOurs) await this.#shared.release({ kind: leasedKinds.lease, name, holder: this.#holder });
    return false;
  }

  #hold(name: string, kept: Kept, until: number): void {
    const left = until - performance.now();
    // The answer may have lain here while this process was suspended.
    if (left <= 0) return this.#stop(kept);
    clearTimeout(kept.expiry);
    kept.expiry = setTimeout(() => {
      this.#log.warn(`This server has lost the lease of ${name}: it could not renew it in time.`);
      this.#stop(kept);
    }, left).unref();
    kept.end ??= kept.begin();
  }

  #stop(kept: Kept): void {
    clearTimeout(kept.expiry);
    kept.end?.();
    kept.end = undefined;
  }
}
