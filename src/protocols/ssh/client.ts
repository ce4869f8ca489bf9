import type { Duplex } from 'node:stream';
import type { ClientChannel, ParsedKey } from 'ssh2';
import { unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Fault } from '../../core/errors.ts';
import type { Connection } from './connection.ts';
import { Connections } from './connections.ts';
import { abortFault, connectTimeoutFault, lostFault } from './faults.ts';
import type { HostKeys } from './host-keys.ts';
import { checkCommand } from '../../core/shell-words.ts';
import { execOn } from './session.ts';
import {
  checkTarget,
  defaultConnectTimeout,
  type ExecOptions,
  type Exit,
  hostAndPort,
  type OpenOptions,
  type Output,
  type Target,
  type Transport,
} from './target.ts';

export interface SshClientOptions {
  /** The private key in OpenSSH's format. */
  readonly privateKey: string;
  readonly hostKeys: HostKeys;
  /** Milliseconds an unused connection is kept. Default: 30,000. */
  readonly idle?: number;
  /** Unused connections that are kept at most. Default: 1,024. */
  readonly kept?: number;
}

/** SSH in this process, with connections that are used again for a short time. */
export class SshClient implements Transport {
  readonly #connections: Connections;

  constructor({ privateKey, hostKeys, idle = 30_000, kept = 1_024 }: SshClientOptions) {
    let key: Promise<ParsedKey> | undefined;
    this.#connections = new Connections({ key: () => (key ??= parsedKey(privateKey)), hostKeys, idle, kept });
  }

  async exec(target: Target, command: string, output: Output, options: ExecOptions): Promise<Exit> {
    checkCommand(command);
    return this.#on(target, options, (connection) => execOn(connection, command, output, options));
  }

  subsystem(target: Target, name: string, options: OpenOptions): Promise<Duplex> {
    const open: OpenChannel = (connection, done) => connection.subsystem(name, done);
    return this.#on(target, options, (connection) => openStream(connection, open, name, options));
  }

  socket(target: Target, path: string, options: OpenOptions): Promise<Duplex> {
    const open: OpenChannel = (connection, done) => connection.socket(path, done);
    return this.#on(target, options, (connection) => openStream(connection, open, path, options));
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  /** A kept connection may have died unseen. If not a byte came since, nothing was started there, and a new one may try. */
  async #on<T>(target: Target, options: OpenOptions, work: (connection: Connection) => Promise<T>): Promise<T> {
    checkTarget(target);
    for (;;) {
      const connection = await this.#connections.claim(target, options);
      const { received } = connection;
      try {
        return await work(connection);
      } catch (error) {
        const stale = connection.wasUsed && !connection.isOpen && received !== undefined;
        if (!stale || connection.received !== received || options.signal.aborted) throw error;
      }
    }
  }
}

async function parsedKey(text: string): Promise<ParsedKey> {
  const { default: ssh2 } = await import('ssh2');
  const key = ssh2.utils.parseKey(text);
  if (key instanceof Error) throw new Fault('unavailable', `The private key cannot be read: ${key.message}.`);
  return Array.isArray(key) ? key[0]! : key;
}

type OpenChannel = (connection: Connection, done: Parameters<Connection['subsystem']>[1]) => void;

/** Opens a stream on a connection that has a place for it; the place is given back when the stream is closed. */
function openStream(
  connection: Connection,
  open: OpenChannel,
  name: string,
  options: OpenOptions,
): Promise<ClientChannel> {
  const { signal, connectTimeout = defaultConnectTimeout } = options;
  const { target } = connection;
  return new Promise((resolve, reject) => {
    let over = false;
    const settle = (act: () => void): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      unwatchAbort(signal, watch);
      act();
    };
    const watch = { aborted: (): void => settle(() => reject(abortFault(signal))) };
    const timer = setTimeout(() => {
      settle(() => reject(connectTimeoutFault(target, connectTimeout)));
      connection.destroy();
    }, connectTimeout);
    watchAbort(signal, watch);
    const refused = (error: Error): void => {
      const { isOpen } = connection;
      connection.release();
      const sentence = `its sshd at ${hostAndPort(target)} does not offer ${name}: ${error.message}.`;
      settle(() => reject(isOpen ? new Fault('invalid', sentence) : lostFault(target, error)));
    };
    try {
      open(connection, (error, channel) => {
        if (error) {
          refused(error);
          return;
        }
        channel.on('error', () => undefined).once('close', () => connection.release());
        // A socket has none.
        (channel as Partial<ClientChannel>).stderr?.on('error', () => undefined).resume();
        if (over) channel.destroy();
        else settle(() => resolve(channel));
      });
    } catch (error) {
      refused(error as Error);
    }
  });
}
