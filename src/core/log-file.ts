import { closeSync, constants, existsSync, fstatSync, openSync, renameSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { makeDirectory } from './files.ts';
import type { LineTarget } from './line-sink.ts';
import { complain } from './standard-streams.ts';

export interface LogFileOptions {
  readonly path: string;
  /** Bytes after which a new one is begun. */
  readonly size: number;
  /** How many old ones are kept, as PATH.1 (the newest), PATH.2 and so on. */
  readonly kept: number;
}

/** Milliseconds between two looks whether somebody has moved, removed or emptied the file. */
const lookEvery = 1_000;

/** A file that is begun anew when it is full, and when somebody has moved or removed it. */
export class LogFile implements LineTarget {
  readonly note: (lost: number) => string;
  readonly #options: LogFileOptions;
  #opened: { readonly descriptor: number; readonly file: Stats } | undefined;
  #size = 0;
  #lookedAt = 0;

  constructor(options: LogFileOptions, note: (lost: number) => string) {
    this.#options = options;
    this.note = note;
    try {
      this.#open();
    } catch (error) {
      this.failed(error as Error);
    }
  }

  get descriptor(): number | undefined {
    return this.#opened?.descriptor;
  }

  async prepare(): Promise<void> {
    if (this.#opened && Date.now() - this.#lookedAt < lookEvery) return;
    const there = await stat(this.#options.path).catch(() => undefined);
    if (this.#opened && there?.ino === this.#opened.file.ino && there.dev === this.#opened.file.dev) {
      this.#size = there.size;
      this.#lookedAt = Date.now();
    } else this.#open();
  }

  wrote(count: number): void {
    this.#size += count;
    if (this.#size >= this.#options.size && this.#opened?.file.isFile()) this.#rotate();
  }

  failed({ message }: Error): void {
    complain(`muster: The log file ${this.#options.path} cannot be written: ${message}.\n`);
  }

  #open(): void {
    const { path } = this.#options;
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_NOCTTY } = constants;
    makeDirectory(dirname(resolve(path)));
    // It tells who did what, so it is for its owner's eyes.
    const descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0o600);
    const file = fstatSync(descriptor);
    if (this.#opened) closeSync(this.#opened.descriptor);
    this.#opened = { descriptor, file };
    this.#size = file.size;
    this.#lookedAt = Date.now();
  }

  #rotate(): void {
    const { path, kept } = this.#options;
    this.#size = 0;
    try {
      for (let number = kept - 1; number > 0; number--)
        if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
      renameSync(path, `${path}.1`);
      this.#open();
    } catch (error) {
      this.failed(error as Error);
    }
  }
}
