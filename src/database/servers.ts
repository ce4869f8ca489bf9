import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { machineId } from '../core/machine-id.ts';
import { leasedKinds, Leases, type LeaseTimes, usualTimes } from './leases.ts';
import {
  isSamePlace,
  type KnownServer,
  mostServers,
  readNote,
  type ServerLoad,
  type ServerNote,
} from './server-notes.ts';
import { ServerTraces } from './server-traces.ts';
import type { SharedRecords } from './shared-records.ts';

export type { KnownServer, ServerLoad } from './server-notes.ts';

const idle: ServerLoad = { jobs: 0, nodes: 0 };

const kind = leasedKinds.server;

/** All that were heard of within a day. */
export interface ServerList {
  /** Those that are there, the one that is asked first. */
  readonly servers: readonly KnownServer[];
  /** Those that are gone and did not say good-bye. */
  readonly lost: readonly KnownServer[];
  /** Why others may be missing. */
  readonly gap?: string;
}

/** The servers that share a database, this one among them. Each says every few seconds that it is there. */
export class Servers {
  /** Of this process: one that is started again is another. */
  readonly id = randomBytes(6).toString('hex');
  /** Of the machine that it runs on. */
  readonly name = hostname();
  readonly machine: string | undefined;
  readonly leases: Leases;
  readonly #shared: SharedRecords;
  readonly #traces: ServerTraces;
  readonly #log: Logger;
  readonly #times: LeaseTimes;
  #note: ServerNote | undefined;
  #load: () => ServerLoad = () => idle;
  #data: string | undefined;
  /** Whose traces are to go when this server is there: if its start fails, others still say what became of the one before. */
  #earlier: readonly string[] = [];
  #renewed: number | undefined;
  /** Until then servers may be missing that are on their way back to a database that was away. */
  #unsureUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;

  constructor(shared: SharedRecords, log: Logger, times: LeaseTimes = usualTimes, machine = machineId()) {
    this.machine = machine;
    this.#shared = shared;
    this.#traces = new ServerTraces(shared, this.id, log);
    this.#log = log;
    this.#times = times;
    this.leases = new Leases(shared, this.id, log, times);
  }

  /** Whoever has the lock of a data directory calls this: a server of this machine that is on record with it was killed. */
  async replaceEarlier(data: string): Promise<void> {
    this.#data = data;
    if (this.#shared.isAlone) return;
    const own = { name: this.name, machine: this.machine, data };
    const earlier = async (list: Promise<readonly KnownServer[]>) =>
      (await list).filter((other) => isSamePlace(other, own)).map(({ id }) => id);
    const ids = await earlier(this.list());
    if (ids.length > 0) await this.#shared.remove(kind, ids);
    this.#earlier = await earlier(this.#traces.list());
  }

  /** From now on others know of this server. */
  async start(note: Omit<ServerNote, 'data' | 'machine'>, load: () => ServerLoad = () => idle): Promise<void> {
    this.#load = load;
    const { machine } = this;
    this.#note = {
      ...note,
      ...(this.#data !== undefined && { data: this.#data }),
      ...(machine !== undefined && { machine }),
    };
    if (!this.#shared.isAlone) await (this.#renewing = this.#renew());
  }

  /** Those that are there, this one first. */
  async list(): Promise<readonly KnownServer[]> {
    const own = this.#own();
    if (this.#shared.isAlone) return own;
    const found = await this.#shared.list({ kind, limit: mostServers });
    const others = found.filter(({ name }) => name !== this.id);
    return [
      ...own,
      ...others.flatMap((record) => {
        const known = readNote(record, this.#log);
        return known ? { ...known, id: record.name } : [];
      }),
    ];
  }

  /** While the database is away it has this server alone. */
  async listAll(): Promise<ServerList> {
    try {
      return await this.#known();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { servers: this.#own(), lost: [], gap: `Other servers are missing here. ${error.message}` };
    }
  }

  /** Takes servers of that name from the list that are gone. */
  async forget(name: string): Promise<void> {
    const { servers, lost } = await this.#known();
    const ids = lost.filter((server) => server.name === name).map(({ id }) => id);
    if (ids.length > 0) return this.#traces.remove(ids);
    if (servers.some((server) => server.name === name))
      throw new Fault('conflict', `Server ${name} is connected. Stop it there, and it is no longer listed.`);
    throw new Fault(
      'unknown-object',
      `No server "${name}" is listed as gone. GET /servers lists all. Workers that are gone cannot be forgotten: they stay listed for a day.`,
    );
  }

  async isAlive(id: string): Promise<boolean> {
    if (id === this.id) return true;
    if (this.#shared.isAlone) return false;
    return performance.now() < this.#unsureUntil || (await this.#shared.get(kind, id)) !== undefined;
  }

  async close(): Promise<void> {
    this.#note = undefined;
    clearTimeout(this.#timer);
    await this.leases.close();
    // A renewal that is under way would bring the record back.
    await this.#renewing;
    if (this.#shared.isAlone) return;
    try {
      await this.#traces.remove([this.id]);
      await this.#shared.remove(kind, [this.id]);
    } catch {
      // The database is away: others list this server as gone.
    }
  }

  #own(): KnownServer[] {
    return this.#note ? [{ id: this.id, ...this.#note, ...this.#load() }] : [];
  }

  async #known(): Promise<ServerList> {
    if (this.#shared.isAlone) return { servers: this.#own(), lost: [] };
    return this.#traces.withoutServer(() => this.list());
  }

  async #renew(): Promise<void> {
    const { lease, renewal, margin } = this.#times;
    const body = JSON.stringify({ ...this.#note, ...this.#load(), heard: new Date().toISOString() });
    try {
      await this.#shared.claim({ kind, name: this.id, holder: this.id, body }, lease);
      const now = performance.now();
      if (this.#renewed !== undefined && now - this.#renewed > lease) this.#unsureUntil = now + renewal + margin;
      this.#renewed = now;
      await this.#traces.remove(this.#earlier);
      this.#earlier = [];
      await this.#traces.renew(body);
      await this.#shared.shorten(Object.values(leasedKinds), lease);
    } catch (error) {
      this.#log.debug({ err: error }, 'this server could not renew its record in the database');
    }
    if (this.#note) this.#timer = setTimeout(() => void (this.#renewing = this.#renew()), renewal).unref();
  }
}
