import { createConnection } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { fileLimit } from '../../core/file-limit.ts';
import { limiter } from '../../core/limiter.ts';
import { Connects } from './connects.ts';

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
/** A refusal is a sign of life. */
const refusals = new Set(['ECONNREFUSED', 'ECONNRESET']);
const longestLine = 256;

/** Tries TCP ports, a bounded number at a time over all addresses. */
export class PortProbe {
  readonly #inTurn = limiter(mostAtOnce);
  readonly #connects = new Connects(connectTimeout);

  /** The address is a number. */
  state(address: string, port: number, signal: AbortSignal): Promise<PortState> {
    return this.#inTurn(async () => {
      if (signal.aborted) return 'silent';
      const error = await this.#connects.attempt(address, port);
      if (error === undefined) return 'open';
      if (shortages.has(error)) throw shortage(error);
      return refusals.has(error) ? 'closed' : 'silent';
    });
  }

  /** Sends a line to a port and returns the first line it answers with. */
  ask(address: string, port: number, question: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#inTurn(() => (signal.aborted ? Promise.resolve(undefined) : firstLine(address, port, question)));
  }
}

function firstLine(address: string, port: number, question: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: address, port });
    let answer = '';
    // When this process itself was busy, the answer may be there already.
    const timer = setTimeout(() => setImmediate(() => socket.destroy()), answerTimeout);
    socket.once('connect', () => socket.write(`${question}\n`));
    socket.setEncoding('latin1').on('data', (text) => {
      answer = (answer + String(text)).slice(0, longestLine);
      if (answer.includes('\n') || answer.length === longestLine) socket.destroy();
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (shortages.has(error.code ?? '')) reject(shortage(error.code!, error));
    });
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(answer.split('\n', 1)[0]?.trim() || undefined);
    });
  });
}

function shortage(code: string, cause?: Error): Fault {
  return new Fault('unavailable', `this server has no room for another connection (${code}).`, { cause });
}
