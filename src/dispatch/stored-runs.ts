import { setImmediate as pause } from 'node:timers/promises';
import type { RunFilter, RunHead } from '../commands/command.ts';
import { errorKinds } from '../core/errors.ts';
import { NamedSlots } from '../core/limiter.ts';
import type { Logger } from '../core/log.ts';
import type { Servers } from '../database/servers.ts';
import type { NodeFailure } from '../core/results.ts';
import type { RecordPlace, SharedRecord, SharedRecords } from '../database/shared-records.ts';
import type { AccountLives } from '../objects/account-lives.ts';
import { shownRun } from './run.ts';
import { pieceName, readDetails, readHead, readResults, readTargets, runKinds, type StoredHead } from './stored-run.ts';

/** A run as it is to be shown now. */
export interface StoredRun extends StoredHead {
  readonly holder: string;
}

type IsAlive = (server: string) => Promise<boolean>;

interface Services {
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id' | 'isAlive'>;
  readonly accounts: AccountLives;
  readonly log: Logger;
}

/** Runs are read in portions of so many until enough are found. */
const smallestPortion = 100;
const largestPortion = 500;
/** More than go on at a time. */
export const mostGoing = 10_000;
/** A user who asks for many lists at once gets one after the other: each is a question to the database. */
const listsAtOnce = 1;
/** Lists are short work: nobody gives up. */
const never = new AbortController().signal;
/** Milliseconds of work after which others get their turn. */
const slice = 5;
const idPattern = /^[0-9a-f-]{36}$/;

/** Reads the runs that other servers do or have done, also those that are no longer there. */
export class StoredRuns {
  readonly #services: Services;
  readonly #slots = new NamedSlots(listsAtOnce);

  constructor(services: Services) {
    this.#services = services;
  }

  async find(id: string): Promise<StoredRun | undefined> {
    if (!idPattern.test(id)) return undefined;
    const { shared, servers } = this.#services;
    const record = await shared.get(runKinds.head, id);
    return record && this.#now(record, (holder) => servers.isAlive(holder));
  }

  /** Whether it is the user's: the account may have become somebody else's since. */
  async isOf({ head, isOwned, revision, by: token }: StoredHead, user: string, by?: string): Promise<boolean> {
    if (by !== undefined && token !== by) return false;
    return isOwned && head.user === user && (await this.#services.accounts.isSameSince(user, revision));
  }

  async show(run: StoredRun): Promise<object> {
    const { shared, log } = this.#services;
    const { head, error, pieces } = run;
    const kept = await shared.get(runKinds.details, head.id);
    const details = (kept && readDetails(kept, log)) ?? {};
    const results: unknown[] = [];
    const turn = takeTurns();
    for (let piece = 0; piece < pieces; piece++) {
      await turn();
      const record = await shared.get(runKinds.results, pieceName(head.id, piece));
      if (record) results.push(...(readResults(record, log) ?? []));
    }
    // Those that were dropped are not unknown: the note of the run says why they are missing.
    if (head.state === 'interrupted' && details.note === undefined)
      results.push(...(await this.#unknown(run, results)));
    return shownRun(head, error, details, results.length > 0 ? results : undefined);
  }

  /** The nodes of which a server that is gone had no result, or had not written it yet. */
  async #unknown({ head, server }: StoredRun, results: readonly unknown[]): Promise<NodeFailure[]> {
    const { shared, log } = this.#services;
    const targets = await shared.get(runKinds.targets, head.id);
    const known = new Set((results as NodeFailure[]).map(({ node }) => node));
    const unknown = ((targets && readTargets(targets, log)) ?? []).filter((node) => !known.has(node));
    return unknown.map((node) => ({
      node,
      error: `the server ${server} was stopped or killed before it wrote down a result of ${head.command} on this node, so that may have happened or not. Look at the node before you send the request again.`,
    }));
  }

  /** The newest first. */
  async list(filter: RunFilter, user: string, seesAll: boolean, by?: string): Promise<readonly RunHead[]> {
    const found = await this.#slots.take(user, never, () => this.#list(filter, user, seesAll, by));
    return found.map(({ head }) => head);
  }

  /** Those of a command that go on. */
  going(command: string): Promise<readonly StoredRun[]> {
    return this.#list({ command, state: 'running', limit: mostGoing }, '', true);
  }

  async #list(filter: RunFilter, user: string, seesAll: boolean, by?: string): Promise<readonly StoredRun[]> {
    const { shared, servers } = this.#services;
    const { user: only, command, state } = filter;
    if (!seesAll && only !== undefined && only !== user) return [];
    const about = seesAll ? only : user;
    const texts = textsOf({ command, state: state === 'interrupted' ? undefined : state });
    if (!seesAll) texts.push(...textsOf({ isOwned: true }));
    const limit = Math.min(Math.max(filter.limit, smallestPortion), largestPortion);
    const isAlive = this.#askingOnce();
    const found: StoredRun[] = [];
    for (let after: RecordPlace | undefined; ; ) {
      const records = await shared.list({ kind: runKinds.head, besides: servers.id, about, texts, after, limit });
      for await (const stored of this.#read(records, isAlive)) {
        if (!isWanted(stored, filter) || !(seesAll || (await this.isOf(stored, user, by)))) continue;
        found.push(stored);
        if (found.length === filter.limit) return found;
      }
      after = records.at(-1);
      if (records.length < limit) return found;
    }
  }

  /** Many runs may be one server's. */
  #askingOnce(): IsAlive {
    const known = new Map<string, Promise<boolean>>();
    return (id) => {
      const asked = known.get(id) ?? this.#services.servers.isAlive(id);
      known.set(id, asked);
      return asked;
    };
  }

  async *#read(records: readonly SharedRecord[], isAlive: IsAlive): AsyncGenerator<StoredRun, void, void> {
    const turn = takeTurns();
    for (const record of records) {
      await turn();
      const stored = await this.#now(record, isAlive);
      if (stored) yield stored;
    }
  }

  /** What a server that is gone was doing is interrupted. */
  async #now(record: SharedRecord, isAlive: IsAlive): Promise<StoredRun | undefined> {
    const { shared, log } = this.#services;
    const { holder } = record;
    const read = readHead(record, log);
    if (!read) return undefined;
    const stored = { ...read, holder };
    if (stored.head.state !== 'running' || (await isAlive(holder))) return stored;
    // It may have ended, and its server with it, after the record was read.
    const last = await shared.get(runKinds.head, record.name);
    const ended = last && readHead(last, log);
    return ended && ended.head.state !== 'running' ? { ...ended, holder } : interrupted(stored);
  }
}

/** The database leaves out most others; what a run has become since is known here alone. */
const isWanted = ({ head }: StoredRun, { user, command, state }: RunFilter): boolean =>
  (user === undefined || head.user === user) &&
  (command === undefined || head.command === command) &&
  (state === undefined || head.state === state);

/** What lets others have their turn, once in a while. */
function takeTurns(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < slice) return;
    await pause();
    began = performance.now();
  };
}

function interrupted(stored: StoredRun): StoredRun {
  const { head, server, written } = stored;
  const { code: errorcode } = errorKinds.unavailable;
  return {
    ...stored,
    head: { ...head, state: 'interrupted', finished: written, errorcode },
    error: [
      `The server ${server} that did this run was stopped or killed; what it did last may not be on record. Look at what the run was for before you send the request again.`,
    ],
  };
}

/** Texts that a stored head with these members has. */
const textsOf = (
  members: Readonly<Partial<Record<keyof RunHead | keyof StoredHead, string | boolean | undefined>>>,
): string[] =>
  Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : `"${name}":${JSON.stringify(value)}`));
