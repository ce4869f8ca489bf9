import { join } from 'node:path';
import type { Logger } from '../core/log.ts';
import { Fault } from '../core/errors.ts';
import { NamedSlots } from '../core/limiter.ts';
import { isolationProblem } from './program.ts';
import { readRecords, removeRecord, type RunRecord, writeRecord } from './records.ts';
import { type Environment, LongRun, type LongWorkSettings } from './long-run.ts';
import { removeStaging } from './stagings.ts';
import type { Claim, OtherClaim, SubjectClaims } from './subject-claims.ts';

/** Runs that a user may have under way, waiting ones too. */
const mostOfUser = 16;
const all = '';

interface Services {
  readonly data: string;
  readonly log: Logger;
  readonly claims: SubjectClaims;
}

/** A subject that is taken here, until its run has ended. */
interface UnderWay {
  readonly claim: Claim;
  readonly ended: Promise<void>;
}

/** Work that takes minutes: who may do how much of it at once, one run at a time on each thing, and what is left when muster was killed. */
export class LongWork {
  readonly #settings: LongWorkSettings;
  readonly #directory: string;
  readonly #log: Logger;
  readonly #claims: SubjectClaims;
  readonly #underWay = new Map<string, UnderWay>();
  readonly #slots: NamedSlots;
  readonly #slotsOfUsers: NamedSlots;
  readonly #stop = new AbortController();
  readonly #cleaning = new Set<Promise<void>>();
  #isolated: Promise<boolean> | undefined;

  constructor(settings: LongWorkSettings, { data, log, claims }: Services) {
    this.#settings = settings;
    this.#directory = join(data, 'long-work');
    this.#log = log;
    this.#claims = claims;
    this.#slots = new NamedSlots(settings.atOnce);
    // Somebody else always finds one.
    this.#slotsOfUsers = new NamedSlots(Math.max(1, settings.atOnce - 1));
  }

  /** Takes the subject for a run, until the long run ends. The signal cancels it. */
  async begin(claim: Claim, signal: AbortSignal): Promise<LongRun> {
    this.#stop.signal.throwIfAborted();
    const here = this.#underWay.get(claim.subject)?.claim;
    if (here) throw taken(here, claim);
    const own = [...this.#underWay.values()].filter(({ claim: { user } }) => user === claim.user).length;
    if (own >= mostOfUser)
      throw new Fault(
        'unavailable',
        `User "${claim.user}" already runs ${own} long commands; try again when some of them have ended.`,
        { retryAfter: 60 },
      );
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#underWay.set(claim.subject, { claim, ended });
    const free = (): void => {
      this.#underWay.delete(claim.subject);
      end();
    };
    try {
      const subject = await this.#claims.take(claim);
      if (!('release' in subject)) throw taken(subject, claim);
      const longRun = new LongRun(this.#environment(), claim, subject, signal);
      void longRun.ended.then(free);
      return longRun;
    } catch (error) {
      free();
      throw error;
    }
  }

  /** Removes what an earlier muster left; `found` gets the records of runs that nobody knew to be interrupted. */
  async resume(found: (record: RunRecord) => Promise<void>): Promise<void> {
    const records = await readRecords(this.#directory, (error) =>
      this.#log.error({ err: error }, 'the record of a long run cannot be read; it is skipped'),
    );
    for (const record of records) {
      if (!record.done) await found(record);
      const done = { ...record, done: true } as const;
      if (!record.done) await writeRecord(this.#directory, done);
      this.#cleanUp(done, this.#stop.signal);
    }
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
    const { run, stagings } = record;
    const cleaning = Promise.all(stagings.map((path) => removeStaging(path, run, signal)))
      .then(() => removeRecord(this.#directory, run))
      .catch((error: unknown) => {
        if (!signal?.aborted)
          this.#log.error({ err: error, run }, 'the temporary directories of a run could not be removed');
      })
      .finally(() => this.#cleaning.delete(cleaning));
    this.#cleaning.add(cleaning);
  }
}

function taken(other: OtherClaim, { user, seesAll }: Claim): Fault {
  const since = new Date(other.started).toISOString();
  const place = other.server === undefined ? '' : ` at server ${other.server}`;
  const named = `${place}${other.user === user || seesAll ? `, run ${other.run}` : ''}`;
  return new Fault(
    'conflict',
    `User "${other.user}" has been working on ${other.subject} with ${other.command} since ${since}${named}; try again when that has ended.`,
  );
}
