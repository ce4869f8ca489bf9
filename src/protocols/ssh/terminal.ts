import type { ClientChannel } from 'ssh2';
import { Fault } from '../../core/errors.ts';
import { onAbort } from '../../core/waiting.ts';
import { Slices } from '../../core/slices.ts';
import { connect } from './connect.ts';
import type { Connection } from './connection.ts';
import { abortFault, lostFault } from './faults.ts';
import type { HostKeys } from './host-keys.ts';
import { defaultConnectTimeout, hostAndPort, type Target } from './target.ts';

export interface TerminalOptions {
  readonly hostKeys: HostKeys;
  readonly connectTimeout?: number | undefined;
  readonly signal: AbortSignal;
  output(bytes: Buffer): void;
  /** Once, after it was open, unless it was `close` that did it. */
  closed(reason: Fault): void;
}

/** A shell on a terminal of the peer, over a connection of its own. */
export interface Terminal {
  /** Resolves when the peer has taken them. */
  write(bytes: Uint8Array): Promise<void>;
  /** Reads nothing for a while: what comes is more than can be taken. */
  rest(milliseconds: number): void;
  close(): Promise<void>;
}

const slices = new Slices();
const terminal = { term: 'vt100', cols: 80, rows: 25 };

/** Whoever has the password logs in, however the peer asks for it. */
export async function openTerminal(target: Target, options: TerminalOptions): Promise<Terminal> {
  const { hostKeys, signal, connectTimeout = defaultConnectTimeout } = options;
  if (signal.aborted) throw abortFault(signal);
  const { opened, abandon } = connect(target, { hostKeys, timeout: connectTimeout, slices, isPerson: true });
  const ignore = onAbort(signal, abandon);
  let connection: Connection | undefined;
  try {
    connection = await opened;
    const channel = await shellOn(connection);
    if (signal.aborted) throw abortFault(signal);
    return terminalOf(connection, channel, options);
  } catch (error) {
    connection?.destroy();
    throw signal.aborted ? abortFault(signal) : error;
  } finally {
    ignore();
  }
}

function shellOn(connection: Connection): Promise<ClientChannel> {
  const { target } = connection;
  return new Promise((resolve, reject) => {
    connection.onEnd = () => reject(lostFault(target));
    connection.shell(terminal, (error, channel) => {
      if (!error) resolve(channel);
      else
        reject(new Fault('invalid', `its SSH server at ${hostAndPort(target)} gives no terminal: ${error.message}.`));
    });
  });
}

function terminalOf(connection: Connection, channel: ClientChannel, { output, closed }: TerminalOptions): Terminal {
  let isOver = false;
  const end = (reason?: Fault): void => {
    if (isOver) return;
    isOver = true;
    if (reason) closed(reason);
  };
  const lost = (): void => {
    end(lostFault(connection.target));
    connection.destroy();
  };
  connection.onEnd = lost;
  channel.on('error', () => undefined).once('close', lost);
  channel.on('data', (bytes: Buffer) => {
    if (!isOver) output(bytes);
  });
  channel.stderr.on('error', () => undefined).resume();
  return {
    write(bytes) {
      if (isOver) return Promise.reject(lostFault(connection.target));
      return new Promise((resolve, reject) => {
        const failed = (): void => reject(lostFault(connection.target));
        channel.once('close', failed);
        channel.write(Buffer.from(bytes), () => {
          channel.off('close', failed);
          resolve();
        });
      });
    },
    rest(milliseconds) {
      const resume = connection.stall();
      setTimeout(resume, milliseconds);
    },
    async close() {
      end();
      channel.end();
      await connection.end();
    },
  };
}
