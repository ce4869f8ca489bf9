import type { Duplex } from 'node:stream';
import type { ParsedKey } from 'ssh2';
import { unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Slices } from '../../core/slices.ts';
import { connect } from './connect.ts';
import type { Connection } from './connection.ts';
import { abortFault, asFault, closedFault, lostFault, throughFault } from './faults.ts';
import type { HostKeys } from './host-keys.ts';
import { Jumps } from './jumps.ts';
import { connectionKey, defaultConnectTimeout, type OpenOptions, type Target } from './target.ts';

export interface ConnectionsOptions {
  /** Called for every connection that is opened. */
  readonly key: () => Promise<ParsedKey>;
  readonly hostKeys: HostKeys;
  /** Milliseconds an unused connection is kept. */
  readonly idle: number;
  /** Unused connections that are kept at most. */
  readonly kept: number;
}

/** Connections by target, used again while they are fresh. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #all = new Set<Connection>();
  /** Unused ones, the longest unused first. */
  readonly #idle = new Set<Connection>();
  readonly #idleByKey = new Map<string, Connection[]>();
  readonly #jumps = new Jumps((jump, options) => this.#open(jump, options));
  readonly #ending = new Set<Promise<void>>();
  readonly #slices = new Slices();
  /** What ends the attempts to open one. */
  readonly #attempts = new Set<() => void>();
  #closed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#endIdle(), Math.max(50, options.idle / 4)).unref();
  }

  /** A connection that nobody else uses; `release` gives it back. */
  async claim(target: Target, options: OpenOptions): Promise<Connection> {
    const kept = target.password === undefined ? this.#idleByKey.get(connectionKey(target))?.at(-1) : undefined;
    if (kept !== undefined) {
      this.#leaveIdle(kept);
      kept.claim();
      return kept;
    }
    const connection = await this.#open(target, options);
    connection.claim();
    connection.onIdle = () => this.#rest(connection);
    return connection;
  }

  /** Kills what runs on nodes, before the ways to them are closed. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closed = true;
    for (const abandon of this.#attempts) abandon();
    for (const connection of this.#all) {
      if (this.#jumps.has(connection)) continue;
      if (!connection.isIdle) connection.kill();
      this.#end(connection);
    }
    await Promise.all(this.#ending);
    for (const connection of this.#all) this.#end(connection);
    await Promise.all(this.#ending);
  }

  async #open(target: Target, { signal, connectTimeout = defaultConnectTimeout }: OpenOptions): Promise<Connection> {
    const { hostKeys } = this.#options;
    const key = await this.#options.key();
    if (signal.aborted) throw abortFault(signal);
    const through = target.jump && (await this.#through(target, target.jump, { signal, connectTimeout }));
    if (this.#closed) throw closedFault();
    const { opened, abandon } = connect(target, {
      key,
      hostKeys,
      timeout: connectTimeout,
      through,
      slices: this.#slices,
    });
    const watch = { aborted: abandon };
    watchAbort(signal, watch);
    this.#attempts.add(abandon);
    try {
      const connection = await opened;
      if (!connection.isOpen) throw lostFault(target);
      this.#all.add(connection);
      connection.onEnd = () => {
        this.#all.delete(connection);
        this.#leaveIdle(connection);
      };
      return connection;
    } catch (error) {
      throw signal.aborted ? abortFault(signal) : this.#closed ? closedFault() : error;
    } finally {
      this.#attempts.delete(abandon);
      unwatchAbort(signal, watch);
    }
  }

  async #through(target: Target, jump: Target, options: OpenOptions): Promise<Duplex> {
    try {
      return await this.#jumps.forward(jump, target, options);
    } catch (error) {
      throw options.signal.aborted ? abortFault(options.signal) : throughFault(jump, asFault(jump, error));
    }
  }

  #rest(connection: Connection): void {
    if (!connection.isOpen) return;
    const { target } = connection;
    if (target.password !== undefined) {
      this.#end(connection);
      return;
    }
    this.#idle.add(connection);
    const key = connectionKey(target);
    const others = this.#idleByKey.get(key);
    if (others) others.push(connection);
    else this.#idleByKey.set(key, [connection]);
    if (this.#idle.size > this.#options.kept) this.#end(this.#idle.values().next().value!);
  }

  #leaveIdle(connection: Connection): void {
    if (!this.#idle.delete(connection)) return;
    const key = connectionKey(connection.target);
    const others = this.#idleByKey.get(key)?.filter((other) => other !== connection) ?? [];
    if (others.length > 0) this.#idleByKey.set(key, others);
    else this.#idleByKey.delete(key);
  }

  #endIdle(): void {
    const limit = performance.now() - this.#options.idle;
    for (const connection of this.#idle) {
      if (connection.idleSince > limit) break;
      this.#end(connection);
    }
    for (const connection of this.#jumps.idleSince(limit)) this.#end(connection);
  }

  #end(connection: Connection): void {
    this.#leaveIdle(connection);
    const ending = connection.end().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
