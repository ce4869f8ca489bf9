import { createConnection } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { fileLimit } from '../../core/file-limit.ts';
import { parseIp } from '../../core/ip.ts';
import { errorName, lastError, libc } from '../../core/libc.ts';
import { limiter } from '../../core/limiter.ts';

/** Linux's numbers, the same on all that we run on. */
const families = { 4: 2, 6: 10 } as const;
const streaming = 1;
const nonBlocking = 0o4000;
const closeOnExec = 0o2000000;
const [socketLevel, pendingError] = [1, 4];
const writable = 4;
/** Bytes of an entry of poll: the file, what is waited for, and what has come. */
const entry = 8;

/** Attempts that are begun before others get a chance to work. */
const burst = 64;
/** Milliseconds until it is looked again where nothing has come. */
const pause = 2;

interface Attempt {
  readonly address: string;
  readonly port: number;
  readonly over: (error: string | undefined) => void;
}

interface Begun extends Attempt {
  readonly deadline: number;
}

/**
 * Tries TCP connections and closes them at once. By the system's own calls: a socket of Node costs five times as much, and it is tens of
 * thousands that are tried. As many are open as are begun and not over; whoever begins them bounds that.
 */
class Connects {
  readonly #timeout: number;
  #waiting: Attempt[] = [];
  /** Each has its entry of the same index. */
  readonly #begun: Begun[] = [];
  #entries = Buffer.alloc(256 * entry);
  #due = false;

  /** `timeout`: milliseconds. */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  /** What came of it: nothing if the connection was made, or the name of the system's error. */
  attempt(address: string, port: number): Promise<string | undefined> {
    return new Promise((over) => {
      this.#waiting.push({ address, port, over });
      this.#goOn(true);
    });
  }

  #goOn(soon: boolean): void {
    if (this.#due) return;
    this.#due = true;
    if (soon) setImmediate(() => this.#turn());
    else setTimeout(() => this.#turn(), pause);
  }

  #turn(): void {
    this.#due = false;
    const ended = this.#look();
    for (const attempt of this.#waiting.splice(0, burst)) this.#begin(attempt);
    if (this.#waiting.length + this.#begun.length > 0) this.#goOn(ended > 0 || this.#waiting.length > 0);
  }

  #begin(attempt: Attempt): void {
    const { address, port, over } = attempt;
    const ip = socketAddress(address, port);
    if (ip === undefined) return over('EINVAL');
    const fd = libc().socket(ip.family, streaming | nonBlocking | closeOnExec, 0);
    if (fd < 0) return over(lastError());
    if (libc().connect(fd, ip.bytes, ip.bytes.length) === 0) {
      libc().close(fd);
      return over(undefined);
    }
    const error = lastError();
    if (error !== 'EINPROGRESS') {
      libc().close(fd);
      return over(error);
    }
    const at = this.#begun.length * entry;
    if (at === this.#entries.length) this.#entries = Buffer.concat([this.#entries, Buffer.alloc(at)]);
    this.#entries.writeInt32LE(fd, at);
    this.#entries.writeInt16LE(writable, at + 4);
    this.#entries.writeInt16LE(0, at + 6);
    this.#begun.push({ ...attempt, deadline: performance.now() + this.#timeout });
  }

  /** Ends those that something has come of, then those whose time is over; how many that were. */
  #look(): number {
    const before = this.#begun.length;
    if (before === 0) return 0;
    libc().poll(this.#entries, before, 0);
    const now = performance.now();
    for (let index = before - 1; index >= 0; index--) {
      const came = this.#entries.readInt16LE(index * entry + 6);
      if (came !== 0 || this.#begun[index]!.deadline < now) this.#end(index, came);
    }
    return before - this.#begun.length;
  }

  /** The last one takes its place. */
  #end(index: number, came: number): void {
    const fd = this.#entries.readInt32LE(index * entry);
    const { over } = this.#begun[index]!;
    const error = came === 0 ? 'ETIMEDOUT' : errorOf(fd);
    libc().close(fd);
    const last = this.#begun.pop()!;
    if (index < this.#begun.length) {
      this.#begun[index] = last;
      const from = this.#begun.length * entry;
      this.#entries.copy(this.#entries, index * entry, from, from + entry);
    }
    over(error);
  }
}

function errorOf(fd: number): string | undefined {
  const [value, length] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeInt32LE(value.length);
  if (libc().getsockopt(fd, socketLevel, pendingError, value, length) !== 0) return lastError();
  const number = value.readInt32LE();
  return number === 0 ? undefined : errorName(number);
}

/** As the kernel takes it: the family in the machine's order, port and address in that of the network. */
function socketAddress(address: string, port: number): { readonly family: number; readonly bytes: Buffer } | undefined {
  const ip = parseIp(address);
  if (!ip) return undefined;
  const family = families[ip.family];
  const bytes = Buffer.alloc(ip.family === 4 ? 16 : 28);
  bytes.writeUInt16LE(family, 0);
  bytes.writeUInt16BE(port, 2);
  if (ip.family === 4) bytes.writeUInt32BE(Number(ip.value), 4);
  else {
    bytes.writeBigUInt64BE(ip.value >> 64n, 8);
    bytes.writeBigUInt64BE(ip.value & 0xffff_ffff_ffff_ffffn, 16);
  }
  return { family, bytes };
}

/** `silent`: nothing came back, as from a host that is down or behind a filter. */
type PortState = 'open' | 'closed' | 'silent';

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
  return new Fault('unavailable', `this server cannot open another connection (${code}).`, { cause });
}
