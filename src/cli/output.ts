import { write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** The reader has gone; there is nothing more to say to it. */
export class ReaderGone extends Error {}

/** Nothing more can be written, for instance because the disk is full. */
export class WriteFailed extends Error {}

/** Where a command writes. Small outputs leave together at the end; of large ones no more than a bound waits. */
export interface Output {
  /** Whoever writes much awaits what it answers, so that a slow reader slows the writer down. */
  write(text: string): Promise<void> | undefined;
  /** The text and a newline. */
  line(text: string): Promise<void> | undefined;
  /** Everything written so far has left. */
  flush(): Promise<void>;
}

const most = 65_536;
const writeSome = promisify(write);

export class FileOutput implements Output {
  readonly #fd: number;
  readonly #name: string;
  /** At a terminal, or where each line matters at once. */
  readonly #eager: boolean;
  #waiting: string[] = [];
  #size = 0;
  #writing: Promise<void> | undefined;
  #failure: Error | undefined;

  constructor(fd: number, name: string, eager: boolean) {
    this.#fd = fd;
    this.#name = name;
    this.#eager = eager;
  }

  line(text: string): Promise<void> | undefined {
    return this.write(`${text}\n`);
  }

  write(text: string): Promise<void> | undefined {
    if (this.#failure) throw this.#failure;
    if (text === '') return undefined;
    this.#waiting.push(text);
    this.#size += text.length;
    if (this.#size >= most) return this.flush();
    // What is written in one turn leaves in one piece.
    if (this.#eager) this.#writing ??= Promise.resolve().then(() => this.#drain());
    return undefined;
  }

  flush(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#size === 0 && !this.#writing) return Promise.resolve();
    return (this.#writing ??= this.#drain());
  }

  /** By a thread of its own, so that a reader who does not read stops neither signals nor what comes over the network. */
  async #drain(): Promise<void> {
    try {
      while (this.#size > 0) {
        let rest: Uint8Array = Buffer.from(this.#waiting.join(''));
        this.#waiting = [];
        this.#size = 0;
        while (rest.length > 0) rest = rest.subarray(await this.#some(rest));
      }
    } catch (error) {
      this.#failure = this.#failureOf(error as NodeJS.ErrnoException);
      throw this.#failure;
    } finally {
      this.#writing = undefined;
    }
  }

  async #some(bytes: Uint8Array): Promise<number> {
    try {
      // Short ones fit into every pipe, as a rule, and need no thread.
      if (bytes.length <= 4_096 && !this.#eager) return writeSync(this.#fd, bytes);
      return (await writeSome(this.#fd, bytes)).bytesWritten;
    } catch (error) {
      // Whoever shares this descriptor with us has made it one that does not wait.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await sleep(5);
      return 0;
    }
  }

  #failureOf({ code, message }: NodeJS.ErrnoException): Error {
    if (code === 'EPIPE' || code === 'EIO') return new ReaderGone();
    const why = code === 'ENOSPC' ? 'No space left on device' : message;
    return new WriteFailed(`Cannot write to ${this.#name}: ${why}.`);
  }
}
