import { dirname } from 'node:path';
import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { Count, setting, type ValuesOf } from '../core/settings.ts';
import { doInChild, unforeseen } from './child-process.ts';
import type { Batch } from './messages.ts';
import { readRecord, removeRecord, type RunRecord, writeRecord } from './records.ts';
import { checkReserve, removeStaging } from './stagings.ts';
import type { Claim, HeldSubject } from './subject-claims.ts';

export const longWorkSettings = Type.Object({
  seconds: setting(Count, 'seconds that long work, such as building an image, may take', { default: 14_400 }),
  atOnce: setting(
    Count,
    'long commands to run at the same time; one user gets all but one of these places, at least one; more commands wait',
    {
      default: 4,
    },
  ),
  reserve: setting(Count, 'bytes that long work leaves free on every file system it writes to', {
    default: 1_073_741_824,
    defaultText: '1 GiB',
  }),
});
export type LongWorkSettings = ValuesOf<typeof longWorkSettings>;

/** What long runs share. */
export interface Environment {
  readonly settings: LongWorkSettings;
  readonly directory: string;
  readonly log: Logger;
  /** Aborted when muster stops. */
  readonly stop: AbortSignal;
  isIsolated(): Promise<boolean>;
  /** Removes what a run has left, while nobody waits for it. */
  cleanUp(record: RunRecord): void;
  slot<T>(user: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** Milliseconds between two looks at the free space. */
const lookEvery = 250;
const longestTimer = 2 ** 31 - 1;
/** Milliseconds that a stop of muster waits for stagings to be removed. */
const removalTimeout = 15_000;

/** One run of long work from its claim to the moment when nothing of it is left. */
export class LongRun {
  readonly claim: Claim;
  /** Aborted when the run is cancelled, muster stops, or another has taken its subject. */
  readonly signal: AbortSignal;
  readonly #environment: Environment;
  readonly #subject: HeldSubject;
  readonly #ended = Promise.withResolvers<void>();
  #record: RunRecord | undefined;
  readonly #written = new Set<string>();

  constructor(environment: Environment, claim: Claim, subject: HeldSubject, cancelled: AbortSignal) {
    this.claim = claim;
    this.#environment = environment;
    this.#subject = subject;
    this.signal = AbortSignal.any([cancelled, environment.stop, subject.lost]);
  }

  /** When the subject is free again. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Whether it ends because muster does. */
  get isStopped(): boolean {
    const { stop } = this.#environment;
    return stop.aborted && this.signal.reason === stop.reason;
  }

  /** Notes the run on disk: if muster is killed, the next one knows of it. */
  async record(about: Omit<RunRecord, 'run' | 'command' | 'user' | 'started' | 'stagings'>): Promise<void> {
    const { run, command, user, started } = this.claim;
    const record = { ...about, run, command, user, started, stagings: [] };
    await writeRecord(this.#environment.directory, record);
    this.#record = record;
  }

  /** Does work when its turn comes; `waits` is called if that is not now. */
  inTurn<T>(waits: () => void, work: (hasWaited: boolean) => Promise<T>): Promise<T> {
    let isLate = false;
    let hasBegun = false;
    const done = this.#environment.slot(this.claim.user, this.signal, () => {
      hasBegun = true;
      return work(isLate);
    });
    isLate = true;
    if (!hasBegun) waits();
    return done;
  }

  /** Has the module do the job in a process of its own. */
  async do(module: string, job: unknown, tell: (batch: Batch) => void): Promise<unknown> {
    const { settings, directory, log } = this.#environment;
    const isolated = await this.#environment.isIsolated();
    const limits = new AbortController();
    const signal = AbortSignal.any([this.signal, limits.signal]);
    const stopLooking = look(this.#written, settings.reserve, limits);
    const late = setTimeout(
      () => limits.abort(tooLong(settings.seconds)),
      Math.min(settings.seconds * 1_000, longestTimer),
    );
    const order = { module, job, directory, record: this.#record!, reserve: settings.reserve, isolated };
    const writesTo = (staging: string): unknown => this.#written.add(dirname(staging));
    try {
      return await doInChild(order, { signal, log, tell, writesTo });
    } finally {
      clearTimeout(late);
      stopLooking();
    }
  }

  /** Keeps what came of it, unless another run has begun on the same subject; `step` calls what it is given at its last moment. */
  settle<T>(step: (check: () => void) => Promise<T>): Promise<T> {
    return this.#subject.settle(step);
  }

  /**
   * Leaves nothing behind, whatever came of it. Who has made something need not wait
   * until the rest is removed; who only moved things away may have done so for the space they took.
   */
  async end(isDone: boolean): Promise<void> {
    const { directory, log } = this.#environment;
    const { run } = this.claim;
    try {
      if (!this.#record) return;
      const record = await readRecord(directory, run);
      const removed = (signal?: AbortSignal): Promise<unknown> =>
        Promise.all(record.stagings.map((path) => removeStaging(path, run, signal)));
      if (isDone && this.#written.size > 0) {
        const done = { ...record, done: true } as const;
        await writeRecord(directory, done);
        this.#environment.cleanUp(done);
      } else {
        if (this.isStopped) await writeRecord(directory, { ...record, done: true });
        await removed(this.isStopped ? AbortSignal.timeout(removalTimeout) : undefined);
        await removeRecord(directory, run);
      }
    } catch (error) {
      // The record stays, and the next start tries again.
      log.error(
        { err: error, run },
        'the temporary directories of a run could not be removed; the next start tries again',
      );
    } finally {
      await this.#subject.release();
      this.#ended.resolve();
    }
  }

  /** The error as clients get it. */
  faultOf(error: unknown): Fault {
    if (error instanceof Fault) return error;
    const { run, command } = this.claim;
    this.#environment.log.error({ err: error, run }, `${command} failed unexpectedly`);
    return unforeseen(run);
  }
}

/** Ends work before it fills a file system that it writes to. */
function look(written: ReadonlySet<string>, reserve: number, limits: AbortController): () => void {
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking || written.size === 0) return;
    isLooking = true;
    Promise.all([...written].map((directory) => checkReserve(directory, reserve)))
      .catch((error: unknown) => limits.abort(error))
      .finally(() => {
        isLooking = false;
      });
  }, lookEvery);
  return () => clearInterval(timer);
}

const tooLong = (seconds: number): Fault =>
  new Fault('deadline', `It took longer than ${seconds} seconds (setting longWork.seconds) and was ended.`);
