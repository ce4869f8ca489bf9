import { join } from 'node:path';
import type { Logger } from '../core/log.ts';
import { Fault } from '../core/errors.ts';
import { NamedSlots } from '../core/limiter.ts';
import { isolationProblem } from './program.ts';
import { readRecords, removeRecord, type RunRecord, writeRecord } from './records.ts';
import { type Claim, type Environment, LongRun, type LongWorkSettings } from './long-run.ts';
import { removeStaging } from './stagings.ts';

const day = 86_400_000;
/** Runs that a user may have under way, waiting ones too. */
const mostOfUser = 16;
const all = '';

/** Work that takes minutes: who may do how much of it at once, one run at a time on each thing, and what is left when muster was killed. */
export class LongWork {
  readonly #settings: LongWorkSettings;
  readonly #directory: string;
  readonly #log: Logger;
  readonly #underWay = new Map<string, LongRun>();
  readonly #slots: NamedSlots;
  readonly #slotsOfUsers: NamedSlots;
  readonly #stop = new AbortController();
  readonly #cleaning = new Set<Promise<void>>();
  #isolated: Promise<boolean> | undefined;

  constructor(settings: LongWorkSettings, { data, log }: { readonly data: string; readonly log: Logger }) {
    this.#settings = settings;
    this.#directory = join(data, 'long-work');
    this.#log = log;
    this.#slots = new NamedSlots(settings.atOnce);
    // Somebody else always finds one.
    this.#slotsOfUsers = new NamedSlots(Math.max(1, settings.atOnce - 1));
  }

  /** Takes the subject for a run, until the long run ends. The signal cancels it. */
  begin(claim: Claim, signal: AbortSignal): LongRun {
    this.#stop.signal.throwIfAborted();
    const other = this.#underWay.get(claim.subject)?.claim;
    if (other) throw taken(other, claim);
    const own = [...this.#underWay.values()].filter(({ claim: { user } }) => user === claim.user).length;
    if (own >= mostOfUser)
      throw new Fault(
        'unavailable',
        `User "${claim.user}" already runs ${own} long commands; try again when some of them have ended.`,
        { retryAfter: 60 },
      );
    const longRun = new LongRun(this.#environment(), claim, signal);
    this.#underWay.set(claim.subject, longRun);
    void longRun.ended.then(() => this.#underWay.delete(claim.subject));
    return longRun;
  }

  /** Runs that an earlier muster left; `found` gets those that nobody knew to be interrupted. */
  async resume(found: (record: RunRecord) => Promise<void>): Promise<RunRecord[]> {
    const records = await readRecords(this.#directory, (error) =>
      this.#log.error({ err: error }, 'the record of a long run cannot be read; it is skipped'),
    );
    const kept: RunRecord[] = [];
    for (const record of records) {
      const { run, interrupted = Date.now(), stagings } = record;
      if (record.done) {
        this.#cleanUp(record, this.#stop.signal);
        continue;
      }
      if (interrupted < Date.now() - day && stagings.length === 0) {
        await removeRecord(this.#directory, run);
        continue;
      }
      const marked = { ...record, interrupted };
      if (record.interrupted === undefined) {
        await found(marked);
        await writeRecord(this.#directory, marked);
      }
      if (stagings.length > 0) this.#cleanUp(marked, this.#stop.signal);
      kept.push(marked);
    }
    return kept;
  }

  /** Ends all that is under way; it counts as interrupted. What is still to be removed then, the next muster removes. */
  async close(): Promise<void> {
    this.#stop.abort(new Fault('unavailable', 'muster was stopped before this ended; send the request again.'));
    await Promise.all([...this.#underWay.values()].map(({ ended }) => ended));
    await Promise.all(this.#cleaning);
  }

  #environment(): Environment {
    return {
      settings: this.#settings,
      directory: this.#directory,
      log: this.#log,
      stop: this.#stop.signal,
      isIsolated: () => (this.#isolated ??= this.#tryIsolation()),
      cleanUp: (record) => this.#cleanUp(record),
      slot: (user, signal, work) => this.#slotsOfUsers.take(user, signal, () => this.#slots.take(all, signal, work)),
    };
  }

  async #tryIsolation(): Promise<boolean> {
    const problem = await isolationProblem();
    if (problem !== undefined)
      this.#log.warn(
        `Long work runs without namespaces of its own, so its programs can use the network: ${problem}. Run muster as root on a machine that lets it make namespaces.`,
      );
    return problem === undefined;
  }

  /** Until the signal says that it takes too long. */
  #cleanUp(record: RunRecord, signal?: AbortSignal): void {
    const { run, stagings, done } = record;
    const cleaning = Promise.all(stagings.map((path) => removeStaging(path, run, signal)))
      .then(() =>
        done ? removeRecord(this.#directory, run) : writeRecord(this.#directory, { ...record, stagings: [] }),
      )
      .catch((error: unknown) => {
        if (!signal?.aborted)
          this.#log.error({ err: error, run }, 'the temporary directories of a run could not be removed');
      })
      .finally(() => this.#cleaning.delete(cleaning));
    this.#cleaning.add(cleaning);
  }
}

function taken(other: Claim, { user, seesAll }: Claim): Fault {
  const since = new Date(other.started).toISOString();
  const named = other.user === user || seesAll ? `, run ${other.run}` : '';
  return new Fault(
    'conflict',
    `User "${other.user}" has been working on ${other.subject} with ${other.command} since ${since}${named}; try again when that has ended.`,
  );
}
