import { write, writeSync } from 'node:fs';
import { bytesOf } from './bytes.ts';

/** The reader has gone; there is nothing more to say to it. */
export class ReaderGone extends Error {
  override readonly message = 'The reader of the output has gone.';
}

/** Nothing more can be written, for instance because the disk is full. */
export class WriteFailed extends Error {}

/** Where a command writes. What is written together leaves together, and no more than a bound waits. */
export interface Output {
  write(text: string): Room | undefined;
  /** The text and a newline. */
  line(text: string): Room | undefined;
  /** A control sequence of our own for a terminal; what others wrote cannot have any. */
  draw(sequence: string): Room | undefined;
  /** Everything written so far has left. */
  flush(): Promise<void>;
}

/**
 * Whoever writes much awaits it, so that a slow reader slows the writer down. Others need not: it is no promise that could be forgotten,
 * and what goes wrong is reported when everything must have left.
 */
export interface Room {
  then<T, U>(resolve: (value?: undefined) => T, reject: (reason: unknown) => U): unknown;
}

const most = 65_536;
const writeSome = (fd: number, bytes: Uint8Array): Promise<number> =>
  new Promise((resolve, reject) => {
    write(fd, bytes, (error, size) => (error ? reject(error) : resolve(size)));
  });
const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class FileOutput implements Output {
  readonly #fd: number;
  readonly #name: string;
  /** Its reader is a terminal, which obeys what it is shown: a machine or a value could say anything there. */
  readonly #isTerminal: () => boolean;
  /** At a terminal, or where each line matters at once. */
  readonly #eager: boolean;
  #waiting: string[] = [];
  #size = 0;
  #writing: Promise<void> | undefined;
  #soon: NodeJS.Immediate | undefined;
  /** Lines leave before the end. */
  #streams = false;
  #failure: Error | undefined;

  constructor(fd: number, name: string, isTerminal: () => boolean, eager: boolean) {
    this.#fd = fd;
    this.#name = name;
    this.#isTerminal = isTerminal;
    this.#eager = eager;
  }

  line(text: string): Room | undefined {
    return this.write(`${text}\n`);
  }

  write(text: string): Room | undefined {
    return this.draw(this.#isTerminal() ? harmless(text) : text);
  }

  draw(text: string): Room | undefined {
    if (this.#failure) throw this.#failure;
    if (text === '') return undefined;
    this.#waiting.push(text);
    this.#size += text.length;
    const isFull = this.#size >= most;
    // What is written in one turn leaves in one piece. Of a short command that is all, and no thread is needed for it.
    if (isFull || this.#eager) void this.#begin();
    else this.#soon ??= setImmediate(() => this.#leave());
    // oxlint-disable-next-line unicorn/no-thenable -- see Room
    return isFull ? { then: (resolve, reject) => this.flush().then(() => resolve(), reject) } : undefined;
  }

  /** Lines of a pipe are not kept for the next ones: whoever reads it may wait for each. */
  #leave(): void {
    this.#soon = undefined;
    this.#streams = true;
    if (this.#size > 0) void this.#begin();
  }

  flush(): Promise<void> {
    clearImmediate(this.#soon);
    this.#soon = undefined;
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#size === 0 && !this.#writing) return Promise.resolve();
    return this.#begin();
  }

  #begin(): Promise<void> {
    if (this.#writing) return this.#writing;
    const writing = Promise.resolve().then(() => this.#drain());
    // Those who wait for it hear of it all the same.
    writing.catch(() => {});
    return (this.#writing = writing);
  }

  /** By a thread of its own, so that a reader who does not read stops neither signals nor what comes over the network. */
  async #drain(): Promise<void> {
    try {
      while (this.#size > 0) {
        let rest: Uint8Array = bytesOf(this.#waiting.join(''));
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
      if (bytes.length <= 4_096 && !this.#eager && !this.#streams) return writeSync(this.#fd, bytes);
      return await writeSome(this.#fd, bytes);
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

/** What a command says to another one. */
export class GatheredOutput implements Output {
  text = '';

  write(text: string): undefined {
    this.text += text;
  }

  line(text: string): undefined {
    this.text += `${text}\n`;
  }

  draw(): undefined {}

  flush(): Promise<void> {
    return Promise.resolve();
  }
}

/** Those that move a cursor, begin an escape sequence or turn the direction of a text. */
const drawing = /(?![\n\t])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

const written = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text for a terminal: lines and tabs stay, everything else that a terminal would obey is written out. */
export const harmless = (text: string): string => text.replaceAll(drawing, written);

/** A value within a line: it can neither draw nor look like a line of its own. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, written);
