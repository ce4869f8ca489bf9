import { isDeepStrictEqual } from 'node:util';
import type { RunNews, RunOwner } from '../core/event-kinds.ts';
import type { Logger } from '../core/log.ts';
import { Turns } from '../core/waiting.ts';
import type { Servers } from '../database/servers.ts';
import type { Announcement, SharedRecords } from '../database/shared-records.ts';
import { newsOf } from './run.ts';
import type { RunAudience, Runs } from './runs.ts';
import { idSeparator, readTargets, runCalls, runKinds } from './stored-run.ts';
import type { StoredRun, StoredRuns } from './stored-runs.ts';

/** Milliseconds between two looks at runs that nothing was heard of, and after which that is worth a look. */
const lookInterval = 5_000;
const longestSilence = 15_000;

interface Services {
  readonly own: Runs;
  readonly stored: StoredRuns;
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id'>;
  readonly audience: RunAudience;
  readonly log: Logger;
}

/** A run of another server that is under way. */
interface Followed {
  heard: number;
  /** Undefined: nobody here has heard of it yet. */
  news: RunNews | undefined;
  targets: readonly string[] | undefined;
}

/** Hears of the runs of other servers, for those who listen to events here, and what others want of the runs of this one. */
export class RunFollower {
  readonly #services: Services;
  readonly #followed = new Map<string, Followed>();
  /** By user: events that were sent are not shown again when the account has become somebody else's. */
  readonly #owners = new Map<string, { isOwned: boolean }>();
  readonly #turns = new Turns();
  /** To be read. */
  readonly #waiting = new Set<string>();
  readonly #stopHearing: () => void;
  readonly #timer: NodeJS.Timeout;

  constructor(services: Services) {
    this.#services = services;
    this.#stopHearing = services.shared.hear((announcement) => this.#hear(announcement));
    this.#timer = setInterval(() => this.#lookAtSilent(), lookInterval).unref();
  }

  disown(user: string): void {
    const owner = this.#owners.get(user);
    if (owner) owner.isOwned = false;
    this.#owners.delete(user);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stopHearing();
  }

  #hear({ kind, name, holder }: Announcement): void {
    if (holder === this.#services.servers.id) return;
    if (kind === runCalls.cancel) this.#services.own.stop(name);
    if (kind !== runCalls.changed && kind !== runCalls.ended) return;
    for (const id of name.split(idSeparator)) {
      const known = this.#followed.get(id);
      if (known) known.heard = performance.now();
      else this.#followed.set(id, { heard: performance.now(), news: undefined, targets: undefined });
      if (this.#services.audience.isHeard) this.#readSoon(id);
      else if (kind === runCalls.ended) this.#followed.delete(id);
    }
  }

  /** The server of a run may be gone, or what it said was lost. */
  #lookAtSilent(): void {
    const longAgo = performance.now() - longestSilence;
    for (const [id, { heard }] of this.#followed) if (heard < longAgo) this.#readSoon(id);
  }

  #readSoon(id: string): void {
    if (this.#waiting.has(id)) return;
    this.#waiting.add(id);
    this.#turns
      .take(async () => {
        this.#waiting.delete(id);
        await this.#read(id);
      })
      .catch((error: unknown) =>
        this.#services.log.warn({ err: error, run: id }, 'a run of another server could not be read for events'),
      );
  }

  async #read(id: string): Promise<void> {
    const { stored, shared, audience, log } = this.#services;
    const followed = this.#followed.get(id);
    if (!followed) return;
    const run = await stored.find(id);
    if (!run) {
      this.#followed.delete(id);
      return;
    }
    followed.heard = performance.now();
    if (!followed.news) {
      const record = await shared.get(runKinds.targets, id);
      followed.targets = record && readTargets(record, log);
    }
    const before = followed.news;
    const news = (followed.news = newsOf(run.head, run.error));
    const owner = await this.#ownerOf(run);
    const isEnded = run.head.state !== 'running';
    if (isEnded) this.#followed.delete(id);
    if (isEnded || !before) audience.run(news, followed.targets, owner);
    else if (!isDeepStrictEqual(news, before)) audience.progress(id, () => followed.news!, followed.targets, owner);
  }

  async #ownerOf(run: StoredRun): Promise<RunOwner> {
    const { by } = run;
    const { user } = run.head;
    if (!(await this.#services.stored.isOf(run, user))) return { user, isOwned: false };
    const account = this.#owners.get(user) ?? { isOwned: true };
    this.#owners.set(user, account);
    return {
      user,
      by,
      get isOwned() {
        return account.isOwned;
      },
    };
  }
}
