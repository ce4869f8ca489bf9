import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../core/log.ts';
import { Turns } from '../core/waiting.ts';
import type { Servers } from '../database/servers.ts';
import type { SharedRecord, SharedRecords } from '../database/shared-records.ts';
import type { Run } from './run.ts';
import { keptFor, type RunKeeper } from './runs.ts';
import {
  idSeparator,
  nothingWritten,
  pieceName,
  piecesOf,
  recordsOf,
  runCalls,
  runKinds,
  type Written,
} from './stored-run.ts';

/** Milliseconds in which changes are gathered, and after which a write is tried again. */
const delay = 500;
const retryDelay = 2_000;
/** What is written in one transaction: others want to write too. */
const recordsAtOnce = 500;
const charactersAtOnce = 1 << 20;
/** Ids that fit into one announcement. */
const idsAtOnce = 100;
/** Milliseconds that a client waits for others to know of its run. */
const keptTimeout = 2_000;

interface Services {
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id' | 'name'>;
  /** The revision that this server has seen. */
  readonly revision: () => number;
  readonly log: Logger;
}

/** Writes the runs of this server where others read them: those that have changed, together, twice a second. */
export class RunWriter implements RunKeeper {
  readonly #services: Services;
  readonly #turns = new Turns();
  #changed = new Set<Run>();
  /** Of those of which something was written. */
  readonly #written = new WeakMap<Run, Written>();
  /** Nodes of runs that others hear of, until it is written that these have ended. */
  readonly #targets = new Map<Run, readonly string[]>();
  readonly #announced = new WeakSet<Run>();
  readonly #forgotten = new WeakSet<Run>();
  /** Names of records to remove, by kind. */
  #removed = new Map<string, string[]>();
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(services: Services) {
    this.#services = services;
  }

  started(run: Run, targets: readonly string[] | undefined): void {
    if (targets) this.#targets.set(run, targets);
    this.#announced.add(run);
    this.changed(run);
  }

  changed(run: Run): void {
    this.#changed.add(run);
    this.#schedule(delay);
  }

  forgotten(run: Run): void {
    this.#forgotten.add(run);
    this.#changed.delete(run);
    this.#targets.delete(run);
    const written = this.#written.get(run);
    if (!written) return;
    for (const kind of [runKinds.head, runKinds.details, runKinds.targets]) this.#remove(kind, run.id);
    this.#removePieces(run, written);
    this.#written.delete(run);
    this.#schedule(delay);
  }

  renewed(run: Run): void {
    this.#written.delete(run);
    this.changed(run);
  }

  async kept(run: Run): Promise<void> {
    this.changed(run);
    await Promise.race([this.flush(), wait(keptTimeout, undefined, { ref: false })]);
  }

  /** Writes what there is; what cannot be written is tried again later. */
  flush(): Promise<void> {
    return this.#turns.take(() => this.#write());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.flush();
  }

  #schedule(milliseconds: number): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.flush(), milliseconds).unref();
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const runs = [...this.#changed];
    this.#changed = new Set();
    try {
      while (runs.length > 0) await this.#writeSome(runs);
      await this.#removeAll();
      this.#isFailing = false;
    } catch (error) {
      for (const run of runs) this.#changed.add(run);
      if (!this.#isFailing)
        this.#services.log.error(
          { err: error },
          'runs cannot be written to the database, so other servers do not show how they get on; it is tried again',
        );
      this.#isFailing = true;
      this.#schedule(retryDelay);
    }
  }

  /** Writes the first of them, as many as go into one transaction, and takes them off the list. */
  async #writeSome(runs: Run[]): Promise<void> {
    const { shared, servers, revision } = this.#services;
    const about = { server: servers.name, revision: revision() };
    const records: SharedRecord[] = [];
    const written: (readonly [Run, Written])[] = [];
    let characters = 0;
    for (const run of runs) {
      if (records.length >= recordsAtOnce || characters >= charactersAtOnce) break;
      const { records: own, after } = recordsOf(
        run,
        this.#targets.get(run),
        this.#written.get(run) ?? nothingWritten(),
        about,
      );
      for (const record of own) {
        records.push({ ...record, holder: servers.id });
        characters += record.body.length;
      }
      written.push([run, after]);
    }
    await shared.put(records, keptFor);
    runs.splice(0, written.length);
    for (const [run, after] of written) this.#note(run, after);
    await this.#announce(written.map(([run]) => run));
  }

  #note(run: Run, after: Written): void {
    const before = this.#written.get(run);
    if (before && run.results === 'dropped') this.#removePieces(run, before);
    this.#written.set(run, after);
    if (run.finished !== undefined) this.#targets.delete(run);
    // It may have happened meanwhile.
    if (this.#forgotten.has(run)) this.forgotten(run);
  }

  /** Those who listen elsewhere hear of them; nobody hears of changes that were done at once. */
  async #announce(runs: readonly Run[]): Promise<void> {
    const { shared, servers } = this.#services;
    const reported = runs.filter((run) => this.#announced.has(run));
    for (const isEnded of [false, true]) {
      const ids = reported.filter(({ finished }) => (finished !== undefined) === isEnded).map(({ id }) => id);
      for (let from = 0; from < ids.length; from += idsAtOnce)
        await shared.announce({
          kind: isEnded ? runCalls.ended : runCalls.changed,
          name: ids.slice(from, from + idsAtOnce).join(idSeparator),
          holder: servers.id,
        });
    }
  }

  #removePieces(run: Run, written: Written): void {
    for (let piece = 0; piece < piecesOf(written); piece++) this.#remove(runKinds.results, pieceName(run.id, piece));
  }

  #remove(kind: string, name: string): void {
    const names = this.#removed.get(kind);
    if (names) names.push(name);
    else this.#removed.set(kind, [name]);
  }

  async #removeAll(): Promise<void> {
    const removed = this.#removed;
    this.#removed = new Map();
    try {
      for (const [kind, names] of removed) await this.#services.shared.remove(kind, names);
    } catch (error) {
      for (const [kind, names] of removed) for (const name of names) this.#remove(kind, name);
      throw error;
    }
  }
}
