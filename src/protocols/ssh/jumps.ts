import type { Duplex } from 'node:stream';
import { unwatchAbort, watchAbort } from '../../core/waiting.ts';
import type { Connection } from './connection.ts';
import { abortFault } from './faults.ts';
import { connectionKey, type OpenOptions, type Target } from './target.ts';

interface Opening {
  readonly opened: Promise<Connection>;
  readonly abandoned: AbortController;
  waiting: number;
}

/** Connections to machines that others are reached through: one each, opened once for all who wait for it, for any number of streams. */
export class Jumps {
  readonly #open: (jump: Target, options: OpenOptions) => Promise<Connection>;
  readonly #opening = new Map<string, Opening>();
  readonly #connections = new Map<string, Connection>();

  constructor(open: (jump: Target, options: OpenOptions) => Promise<Connection>) {
    this.#open = open;
  }

  async forward(jump: Target, target: Target, options: OpenOptions): Promise<Duplex> {
    const key = connectionKey(jump);
    const known = this.#connections.get(key);
    const connection = known?.isOpen ? known : await this.#wait(key, jump, options);
    connection.claim();
    return connection.forward(target);
  }

  has(connection: Connection): boolean {
    return this.#connections.get(connectionKey(connection.target)) === connection;
  }

  /** Those that have carried nothing since then; those that are closed are forgotten. */
  idleSince(limit: number): Connection[] {
    for (const [key, { isOpen }] of this.#connections) if (!isOpen) this.#connections.delete(key);
    return [...this.#connections.values()].filter(({ isIdle, idleSince }) => isIdle && idleSince < limit);
  }

  #wait(key: string, jump: Target, options: OpenOptions): Promise<Connection> {
    let opening = this.#opening.get(key);
    if (opening === undefined) this.#opening.set(key, (opening = this.#start(key, jump, options)));
    const joined = opening;
    const { signal } = options;
    joined.waiting++;
    return new Promise((resolve, reject) => {
      const leave = {
        aborted: (): void => {
          if (--joined.waiting === 0) joined.abandoned.abort();
          reject(abortFault(signal));
        },
      };
      watchAbort(signal, leave);
      joined.opened.then(resolve, reject).finally(() => unwatchAbort(signal, leave));
    });
  }

  #start(key: string, jump: Target, { connectTimeout }: OpenOptions): Opening {
    const abandoned = new AbortController();
    const opened = this.#open(jump, { signal: abandoned.signal, connectTimeout }).then((connection) => {
      this.#connections.set(key, connection);
      return connection;
    });
    const settled = (): void => void this.#opening.delete(key);
    opened.then(settled, settled);
    return { opened, abandoned, waiting: 0 };
  }
}
