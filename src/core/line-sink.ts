import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Characters that wait to be written; when nobody takes them, lines are lost rather than more memory. */
const mostWaiting = 4 << 20;
/** Milliseconds between two tries to write to a pipe that is full. */
const shortestPause = 5;
const longestPause = 500;
/** Milliseconds for which a pipe that is full may hold up the end of the process. */
const timeoutAtExit = 500;

/** Where lines go to. */
export interface LineTarget {
  /** Never waits for a reader. Undefined if there is nothing to write to now. */
  readonly descriptor: number | undefined;
  /** Called before lines are written; throws if they cannot be. */
  prepare?(): Promise<void>;
  wrote?(count: number): void;
  /** Called when lines cannot be written, once until they can be again. */
  failed?(error: Error): void;
  /** The line that stands for those that are missing. */
  note?(lost: number): string;
}

/**
 * Writes lines without ever holding up the process, those of one turn of the event loop in one piece. Lines that cannot be written are
 * counted and lost: a note before the next line says how many. What a slow reader has not taken yet waits, up to a bound.
 */
export class LineSink {
  readonly #target: LineTarget;
  #waiting = '';
  /** Bytes under way. */
  #rest: Uint8Array = Buffer.alloc(0);
  /** Lines that are missing before those that wait. */
  #lost = 0;
  #isBusy = false;
  #isFailing = false;
  /** A thread is writing: nobody knows how much of `#rest` is written already. */
  #isInThread = false;
  /** Only the beginning of the last line was written. */
  #isMidLine = false;

  constructor(target: LineTarget) {
    this.#target = target;
    process.once('exit', () => this.#finish());
  }

  write(lines: string): void {
    if (lines === '') return;
    if (this.#waiting.length + lines.length > mostWaiting) {
      this.#lost += lineCount(Buffer.from(this.#waiting));
      this.#waiting = '';
    }
    this.#waiting += lines;
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#drain());
  }

  async #drain(): Promise<void> {
    while (this.#waiting !== '') {
      const lost = this.#lost;
      const { note, lines } = this.#take();
      try {
        await this.#send(Buffer.concat([note, lines]));
        this.#isFailing = false;
      } catch (error) {
        const isNoted = this.#rest.length <= lines.length;
        this.#lost += isNoted ? lineCount(this.#rest) : lost + lineCount(lines);
        this.#rest = Buffer.alloc(0);
        if (!this.#isFailing) this.#target.failed?.(error as Error);
        this.#isFailing = true;
      }
    }
    this.#isBusy = false;
  }

  /** The lines that wait, with what must stand before them. */
  #take(): { readonly note: Buffer; readonly lines: Buffer } {
    const note = this.#lost > 0 ? (this.#target.note?.(this.#lost) ?? '') : '';
    const taken = { note: Buffer.from(`${this.#isMidLine ? '\n' : ''}${note}`), lines: Buffer.from(this.#waiting) };
    this.#waiting = '';
    this.#lost = 0;
    return taken;
  }

  async #send(bytes: Uint8Array): Promise<void> {
    this.#rest = bytes;
    await this.#target.prepare?.();
    for (let wait = shortestPause; this.#rest.length > 0; ) {
      const count = await this.#some();
      if (count > 0) {
        this.#wrote(count);
        wait = shortestPause;
        continue;
      }
      await pause(wait, undefined, { ref: false });
      wait = Math.min(2 * wait, longestPause);
    }
  }

  async #some(): Promise<number> {
    this.#isInThread = true;
    try {
      return (await promisify(write)(this.#target.descriptor!, this.#rest)).bytesWritten;
    } catch (error) {
      return zeroIfFull(error);
    } finally {
      this.#isInThread = false;
    }
  }

  #wrote(count: number): void {
    this.#isMidLine = this.#rest[count - 1] !== newline;
    this.#rest = this.#rest.subarray(count);
    this.#target.wrote?.(count);
  }

  #finish(): void {
    const before = this.#isInThread ? Buffer.alloc(0) : this.#rest;
    const { note, lines } = this.#take();
    this.#rest = Buffer.concat([before, note, lines]);
    const { descriptor } = this.#target;
    if (this.#rest.length === 0 || descriptor === undefined) return;
    try {
      for (const deadline = Date.now() + timeoutAtExit; this.#rest.length > 0 && Date.now() < deadline; ) {
        const count = someNow(descriptor, this.#rest);
        if (count > 0) this.#wrote(count);
        else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, shortestPause);
      }
    } catch (error) {
      if (!this.#isFailing) this.#target.failed?.(error as Error);
    }
  }
}

const newline = 0x0a;

function lineCount(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
}

function someNow(descriptor: number, bytes: Uint8Array): number {
  try {
    return writeSync(descriptor, bytes);
  } catch (error) {
    return zeroIfFull(error);
  }
}

/** The answer of a pipe, a socket or a terminal whose reader has not taken what was written before. */
function zeroIfFull(error: unknown): 0 {
  if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
  throw error;
}

const { O_WRONLY, O_APPEND, O_NONBLOCK, O_NOCTTY } = constants;

/**
 * A descriptor of standard output or standard error that does not wait for a reader. A thread that waits for one would be missing
 * elsewhere, and would hold up the end of the process for as long as the reader hangs.
 */
export function withoutWaiting(standard: 1 | 2): number {
  const kind = fstatSync(standard);
  if (!kind.isFIFO() && !kind.isCharacterDevice() && !kind.isSocket()) return standard;
  try {
    // Opened again, so that others who write there still wait.
    return openSync(`/proc/self/fd/${standard}`, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket, or a pipe of another user: Node makes these so for its own stream, until the process ends.
    void (standard === 1 ? process.stdout : process.stderr);
    return standard;
  }
}

let output: LineSink | undefined;
let errors: LineSink | undefined;

/** Says lines on standard output. Nobody may be there to hear them; the service goes on. */
export function say(text: string): void {
  output ??= new LineSink({
    descriptor: withoutWaiting(1),
    failed: ({ message }) => complain(`muster: Standard output cannot be written: ${message}.\n`),
  });
  output.write(text);
}

/** The same on standard error. */
export function complain(text: string): void {
  errors ??= new LineSink({ descriptor: withoutWaiting(2) });
  errors.write(text);
}
