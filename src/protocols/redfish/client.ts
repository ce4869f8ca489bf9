import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';
import { Pace } from '../../core/pace.ts';
import { Connection, type Endpoint, type ServiceLimits } from './connection.ts';
import { ReplyMemory } from './exchange.ts';
import { Handshakes } from './handshakes.ts';
import { RedfishService } from './service.ts';
import { LoginBrake } from './session.ts';
import { portOf, type Trust } from './trust.ts';

export { Refusal } from './faults.ts';
export type { Endpoint, Resource } from './service.ts';
export { RedfishService } from './service.ts';
export type { Trust } from './trust.ts';

export interface RedfishOptions extends Partial<Omit<ServiceLimits, 'memory'>> {
  readonly trust: Trust;
  /** Connections kept open, used or not; beyond it unused ones are closed. Each costs about 200 KiB. */
  readonly kept?: number;
  /** Bytes of answers larger than usual that are received at a time, from all services. */
  readonly replyMemory?: number;
  /** How long an account that was refused is not tried again, in milliseconds. */
  readonly loginBrake?: number;
}

const defaults: Omit<ServiceLimits, 'memory'> = {
  connectTimeout: 5_000,
  requestTimeout: 30_000,
  responseSize: 1024 * 1024,
  collectionSize: 8 * 1024 * 1024,
  commandTime: 300_000,
  commandSize: 32 * 1024 * 1024,
  idle: 60_000,
};
const defaultReplyMemory = 256 * 1024 * 1024;
const defaultKept = 1_500;
const defaultBrake = 5_000;

/** All Redfish services a process talks to. Unused ones are logged out and forgotten with their passwords. */
export class RedfishClient {
  readonly #limits: ServiceLimits;
  readonly #kept: number;
  readonly #connect: (endpoint: Endpoint) => Connection;
  /** As nodes use them, by node. */
  readonly #services = new Map<string, { readonly service: RedfishService; readonly account: string }>();
  /** By address, port and account: nodes behind one BMC share its session. */
  readonly #connections = new Map<string, Connection>();
  readonly #open = new Set<Connection>();
  readonly #ending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #closed = false;

  constructor(options: RedfishOptions) {
    const {
      trust,
      kept = defaultKept,
      loginBrake = defaultBrake,
      replyMemory = defaultReplyMemory,
      ...limits
    } = options;
    this.#kept = kept;
    this.#limits = { ...defaults, ...limits, memory: new ReplyMemory(replyMemory) };
    const opened = (connection: Connection): void => this.#opened(connection);
    const handshakes = new Handshakes();
    const brake = new LoginBrake(loginBrake);
    const around = { trust, limits: this.#limits, brake, pace: new Pace(), handshakes, opened };
    this.#connect = (endpoint) => new Connection(endpoint, around);
    this.#timer = setInterval(() => this.#endIdle(), this.#limits.idle / 4).unref();
  }

  /** The same one for the same endpoint, so that its connection and session are used again. */
  service(endpoint: Endpoint): RedfishService {
    const { address, username, password, transport = 'tls' } = endpoint;
    const port = portOf(endpoint);
    const key = endpoint.key ?? formatListen({ host: address, port });
    const account = [address, port, username, password, transport].join('\0');
    const cached = this.#services.get(key);
    if (cached?.account === account) return cached.service;
    const service = new RedfishService(endpoint, key, this.#limits, () => this.#connection(account, endpoint));
    this.#services.set(key, { service, account });
    return service;
  }

  /** How many services and accounts are cached at the moment. */
  get size(): { readonly services: number; readonly connections: number } {
    return { services: this.#services.size, connections: this.#connections.size };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    const connections = new Set([...this.#connections.values(), ...this.#open]);
    await Promise.all([...[...connections].map((connection) => connection.close()), ...this.#ending]);
    this.#services.clear();
    this.#connections.clear();
    this.#open.clear();
  }

  #connection(account: string, endpoint: Endpoint): Connection {
    const cached = this.#connections.get(account);
    if (cached) return cached;
    if (this.#closed) throw new Fault('unavailable', 'muster is shutting down; try again shortly.');
    const connection = this.#connect(endpoint);
    this.#connections.set(account, connection);
    return connection;
  }

  #opened(connection: Connection): void {
    this.#open.add(connection);
    if (this.#open.size <= this.#kept) return;
    for (const other of this.#open) {
      if (other.idleSince !== undefined && other !== connection) return this.#end(other);
    }
  }

  #endIdle(): void {
    const limit = performance.now() - this.#limits.idle;
    const isIdle = ({ idleSince }: Connection): boolean => idleSince !== undefined && idleSince <= limit;
    for (const connection of this.#open) if (isIdle(connection)) this.#end(connection);
    for (const [account, connection] of this.#connections) if (isIdle(connection)) this.#connections.delete(account);
    for (const [key, { account }] of this.#services) if (!this.#connections.has(account)) this.#services.delete(key);
  }

  #end(connection: Connection): void {
    this.#open.delete(connection);
    const ending = connection.end().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
