import { existsSync, fstatSync, mkdirSync, openSync, closeSync, renameSync, write, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DestinationStream } from 'pino';

export interface LogFile {
  readonly path: string;
  /** Bytes after which a new one is begun. */
  readonly size: number;
  /** How many old ones are kept, as PATH.1 (the newest), PATH.2 and so on. */
  readonly kept: number;
}

/**
 * Appends to a file without blocking, and begins a new one when it is full. A disk that takes no more is told once and costs lines, not the
 * service; pino's own stream would wait for room at the end of the process, for ever.
 */
export class RotatingFile implements DestinationStream {
  readonly #file: LogFile;
  readonly #mostWaiting: number;
  #descriptor: number;
  #size: number;
  #waiting = '';
  #isWriting = false;
  #isTold = false;

  /** Throws if it cannot be opened. */
  constructor(file: LogFile, mostWaiting: number) {
    this.#file = file;
    this.#mostWaiting = mostWaiting;
    mkdirSync(dirname(file.path), { recursive: true });
    this.#descriptor = open(file.path);
    this.#size = fstatSync(this.#descriptor).size;
    process.once('exit', () => this.#finish());
  }

  write(line: string): void {
    if (this.#waiting.length + line.length <= this.#mostWaiting) this.#waiting += line;
    this.#writeNext();
  }

  #writeNext(): void {
    if (this.#isWriting || this.#waiting === '') return;
    this.#isWriting = true;
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#send(bytes);
  }

  #send(bytes: Buffer): void {
    write(this.#descriptor, bytes, (error, count) => {
      if (error) this.#tell(error);
      else {
        this.#isTold = false;
        this.#size += count;
        if (count < bytes.length) return this.#send(bytes.subarray(count));
        if (this.#size >= this.#file.size) this.#rotate();
      }
      this.#isWriting = false;
      this.#writeNext();
    });
  }

  #rotate(): void {
    const { path, kept } = this.#file;
    this.#size = 0;
    try {
      for (let number = kept - 1; number > 0; number--)
        if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
      renameSync(path, `${path}.1`);
      const full = this.#descriptor;
      this.#descriptor = open(path);
      closeSync(full);
    } catch (error) {
      this.#tell(error as Error);
    }
  }

  #finish(): void {
    try {
      writeSync(this.#descriptor, this.#waiting);
    } catch (error) {
      this.#tell(error as Error);
    }
  }

  #tell({ message }: Error): void {
    if (!this.#isTold) process.stderr.write(`muster: The log file ${this.#file.path} cannot be written: ${message}.\n`);
    this.#isTold = true;
  }
}

/** It tells who did what, so it is for its owner's eyes. */
const open = (path: string): number => openSync(path, 'a', 0o600);
