import { setTimeout as wait } from 'node:timers/promises';
import type { RunBoard, RunFilter, RunHead, RunList } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Servers } from '../database/servers.ts';
import type { SharedRecords } from '../database/shared-records.ts';
import { cannotBeCancelled, hasEnded, noSuchRun } from './run.ts';
import type { Runs } from './runs.ts';
import { readTargets, runCalls, runKinds } from './stored-run.ts';
import { mostGoing, type StoredRun, type StoredRuns } from './stored-runs.ts';

/** Milliseconds that another server has to hear that it is to end a run, and between two looks at that. */
const cancelTimeout = 5_000;
const lookInterval = 100;
/** How often it is called: one that has just lost its connection hears nothing. */
const looksPerCall = 10;

interface Services {
  readonly own: Runs;
  readonly stored: StoredRuns;
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id'>;
  readonly log: Logger;
}

/** The runs of all servers: of this one from memory, of others from the database. */
export class AllRuns implements RunBoard {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  async show(id: string, user: string, seesAll: boolean, by?: string): Promise<object> {
    const { own, stored } = this.#services;
    return own.has(id) ? own.show(id, user, seesAll, by) : stored.show(await this.#find(id, user, seesAll, by));
  }

  async list(filter: RunFilter, user: string, seesAll: boolean, by?: string): Promise<RunList> {
    const { own, stored } = this.#services;
    const runs = own.list(filter, user, seesAll, by);
    try {
      const others = await stored.list(filter, user, seesAll, by);
      const all = [...runs, ...others].sort(newestFirst);
      return { runs: all.slice(0, filter.limit) };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // Whoever looks for what is going on needs to see at least what is going on here.
      return { runs, note: `Runs of other servers are missing. ${error.message}` };
    }
  }

  async cancel(id: string, user: string, seesAll: boolean, by?: string): Promise<void> {
    const { own, shared, servers } = this.#services;
    if (own.has(id)) return own.cancel(id, user, seesAll, by);
    for (let looks = 0; looks * lookInterval < cancelTimeout; looks++) {
      const { head, canBeCancelled, isCancelled, error } = await this.#find(id, user, seesAll, by);
      if (looks > 0 && (isCancelled || head.state !== 'running')) return;
      if (head.state === 'interrupted') throw new Fault('invalid', [`Run ${id} has ended.`, ...error]);
      if (head.state !== 'running') throw hasEnded(id);
      if (!canBeCancelled) throw cannotBeCancelled(id, head.command);
      if (looks % looksPerCall === 0) await shared.announce({ kind: runCalls.cancel, name: id, holder: servers.id });
      await wait(lookInterval);
    }
    const { server: name } = await this.#find(id, user, seesAll, by);
    throw new Fault(
      'unavailable',
      `The server ${name} that does run ${id} does not answer; the run may go on. Look at it with GET /runs/${id} and send the request again.`,
      { retryAfter: 5 },
    );
  }

  /** By the id of the server. Throws if the nodes of a run are not on record yet. */
  async nodesUnder(command: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { own, stored, shared, servers, log } = this.#services;
    const ownHeads = own.list({ command, state: 'running', limit: mostGoing }, '', true);
    const going = [...ownHeads.map((head) => ({ head, holder: servers.id })), ...(await stored.going(command))];
    const nodes = new Map<string, Set<string>>();
    for (const { head, holder } of going) {
      const record = await shared.get(runKinds.targets, head.id);
      const targets = record && readTargets(record, log);
      if (!targets) throw new Error(`The nodes of run ${head.id} are not on record yet, or cannot be read.`);
      nodes.set(holder, new Set([...(nodes.get(holder) ?? []), ...targets]));
    }
    return nodes;
  }

  async #find(id: string, user: string, seesAll: boolean, by: string | undefined): Promise<StoredRun> {
    const { stored } = this.#services;
    const found = await stored.find(id);
    if (!found || !(seesAll || (await stored.isOf(found, user, by)))) throw noSuchRun(id);
    return found;
  }
}

const newestFirst = (a: RunHead, b: RunHead): number => Date.parse(b.started) - Date.parse(a.started);
