import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Type } from 'typebox';
import type { Logger } from '../core/log.ts';
import { machineId } from '../core/machine-id.ts';
import { leasedKinds, Leases, type LeaseTimes, usualTimes } from './leases.ts';
import { bodyReader } from './record-bodies.ts';
import type { SharedRecords } from './shared-records.ts';

/** What a server says of itself. */
export interface ServerNote {
  readonly name: string;
  readonly version: string;
  /** ISO time of its start. */
  readonly since: string;
  /** HOST:PORT of each. */
  readonly listens: readonly string[];
  /** Its data directory, which it has the lock of. */
  readonly data?: string;
  /** Of the machine that it runs on: several may have the same name. */
  readonly machine?: string;
}

/** How busy a server is: runs under way, and the nodes they are about. */
export interface ServerLoad {
  readonly jobs: number;
  readonly nodes: number;
}

export interface KnownServer extends ServerNote, ServerLoad {
  readonly id: string;
}

const idle: ServerLoad = { jobs: 0, nodes: 0 };

const kind = leasedKinds.server;
const readNote = bodyReader<ServerNote & ServerLoad>(
  Type.Object({
    name: Type.String(),
    version: Type.String(),
    since: Type.String(),
    listens: Type.Array(Type.String()),
    data: Type.Optional(Type.String()),
    machine: Type.Optional(Type.String()),
    jobs: Type.Number(),
    nodes: Type.Number(),
  }),
);
/** More servers than anybody has. */
const mostServers = 1_000;

/** The servers that share a database, this one among them. Each says every few seconds that it is there. */
export class Servers {
  /** Of this process: one that is started again is another. */
  readonly id = randomBytes(6).toString('hex');
  /** Of the machine that it runs on. */
  readonly name = hostname();
  readonly machine: string | undefined;
  readonly leases: Leases;
  readonly #shared: SharedRecords;
  readonly #log: Logger;
  readonly #times: LeaseTimes;
  #note: ServerNote | undefined;
  #load: () => ServerLoad = () => idle;
  #data: string | undefined;
  #renewed: number | undefined;
  /** Until then servers may be missing that are on their way back to a database that was away. */
  #unsureUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;

  constructor(shared: SharedRecords, log: Logger, times: LeaseTimes = usualTimes, machine = machineId()) {
    this.machine = machine;
    this.#shared = shared;
    this.#log = log;
    this.#times = times;
    this.leases = new Leases(shared, this.id, log, times);
  }

  /** Whoever has the lock of a data directory calls this: a server of this machine that is on record with it was killed. */
  async replaceEarlier(data: string): Promise<void> {
    this.#data = data;
    if (this.#shared.isAlone) return;
    const earlier = (await this.list()).filter(
      (other) => other.name === this.name && other.machine === this.machine && other.data === data,
    );
    const ids = earlier.map(({ id }) => id);
    if (ids.length > 0) await this.#shared.remove(kind, ids);
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
    const own = this.#note ? [{ id: this.id, ...this.#note, ...this.#load() }] : [];
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
    if (!this.#shared.isAlone) await this.#shared.remove(kind, [this.id]).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const { lease, renewal, margin } = this.#times;
    const body = JSON.stringify({ ...this.#note, ...this.#load() });
    try {
      await this.#shared.claim({ kind, name: this.id, holder: this.id, body }, lease);
      const now = performance.now();
      if (this.#renewed !== undefined && now - this.#renewed > lease) this.#unsureUntil = now + renewal + margin;
      this.#renewed = now;
      await this.#shared.shorten(Object.values(leasedKinds), lease);
    } catch (error) {
      this.#log.debug({ err: error }, 'this server could not renew its record in the database');
    }
    if (this.#note) this.#timer = setTimeout(() => void (this.#renewing = this.#renew()), renewal).unref();
  }
}
