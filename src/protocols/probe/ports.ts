import { createConnection, type Socket } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { fileLimit } from '../../core/file-limit.ts';
import { limiter } from '../../core/limiter.ts';

/** `silent`: nothing came back, as from a host that is down or behind a filter. */
export type PortState = 'open' | 'closed' | 'silent';

/** Room for one lost packet: the kernel repeats it after a second. */
const connectTimeout = 1_500;
/** To connect, ask and hear the whole answer. */
const answerTimeout = 3_000;
/** At most a quarter of the files this process may have open; clients and other work need the rest. */
const mostAtOnce = Math.min(1_024, Math.ceil(fileLimit() / 4));
/** What this machine is short of says nothing about the other. */
const shortages = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);
const longestLine = 256;

/** Tries TCP ports, a bounded number at a time over all addresses. */
export class PortProbe {
  readonly #inTurn = limiter(mostAtOnce);

  state(address: string, port: number, signal: AbortSignal): Promise<PortState> {
    return this.#turn<PortState>(signal, 'silent', (done, failed) => {
      const socket = connect(address, port, connectTimeout, done, failed);
      socket.once('connect', () => {
        done('open');
        socket.destroy();
      });
    });
  }

  /** Sends a line to a port and returns the first line it answers with. */
  ask(address: string, port: number, question: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#turn<string | undefined>(signal, undefined, (done, failed) => {
      let answer = '';
      const over = (): void => done(answer.split('\n', 1)[0]?.trim() || undefined);
      const socket = connect(address, port, answerTimeout, over, failed);
      socket.once('connect', () => socket.write(`${question}\n`));
      socket.setEncoding('latin1').on('data', (text) => {
        answer = (answer + String(text)).slice(0, longestLine);
        if (answer.includes('\n') || answer.length === longestLine) socket.destroy();
      });
    });
  }

  #turn<T>(
    signal: AbortSignal,
    none: T,
    begin: (done: (value: T) => void, failed: (error: Fault) => void) => void,
  ): Promise<T> {
    return this.#inTurn(() => (signal.aborted ? Promise.resolve(none) : new Promise<T>(begin)));
  }
}

/** `over` gets how the connection ended, after `limit` milliseconds at most; `failed` is called if none could be made. */
function connect(
  address: string,
  port: number,
  limit: number,
  over: (state: PortState) => void,
  failed: (error: Fault) => void,
): Socket {
  const socket = createConnection({ host: address, port });
  let state: PortState = 'silent';
  // When this process itself was busy, the answer may be there already.
  const timer = setTimeout(() => setImmediate(() => socket.destroy()), limit);
  socket.once('error', (error: NodeJS.ErrnoException) => {
    const code = error.code ?? '';
    if (code === 'ECONNREFUSED' || code === 'ECONNRESET') state = 'closed';
    if (shortages.has(code))
      failed(new Fault('unavailable', `this server has no room for another connection (${code}).`, { cause: error }));
  });
  socket.once('close', () => {
    clearTimeout(timer);
    over(state);
  });
  return socket;
}
