import { closeSync, constants, existsSync, fstatSync, openSync, renameSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { type DestinationStream, type Logger, pino } from 'pino';
import { makeDirectory } from './files.ts';
import { complain, LineSink, type LineTarget, withoutWaiting } from './line-sink.ts';

interface LogFileOptions {
  readonly path: string;
  /** Bytes after which a new one is begun. */
  readonly size: number;
  /** How many old ones are kept, as PATH.1 (the newest), PATH.2 and so on. */
  readonly kept: number;
}

/** Milliseconds between two looks whether somebody has moved, removed or emptied the file. */
const lookEvery = 1_000;

/** A file that a new one replaces when it is full, and when somebody has moved or removed it. */
class LogFile implements LineTarget {
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
    // It says who did what, so it is for its owner's eyes.
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

export type { Logger } from 'pino';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];

/** Writes JSON lines to a file or to standard error. A log that cannot be written costs lines, never the service. */
export function createLog(level: LogLevel, file?: LogFileOptions): Logger {
  return pino(
    { level, timestamp: timeField, formatters: { level: (label) => ({ level: label }) } },
    file ? new LineSink(new LogFile(file, lostNote)) : standardError(),
  );
}

let lastTime = 0;
let lastField = '';

/** Lines come many in a millisecond. */
function timeField(): string {
  const now = Date.now();
  if (now !== lastTime) [lastTime, lastField] = [now, `,"time":"${new Date(now).toISOString()}"`];
  return lastField;
}

/** Takes the place of lines that could not be written, at every level. */
function lostNote(lost: number): string {
  const lines = lost === 1 ? '1 line was' : `${lost} lines were`;
  const msg = `${lines} lost here: the log could not be written. Check the free space of its disk, or the program that reads it.`;
  return `{"level":"warn"${timeField()},"pid":${process.pid},"hostname":${JSON.stringify(hostname())},"lost":${lost},"msg":${JSON.stringify(msg)}}\n`;
}

function standardError(): DestinationStream {
  const descriptor = withoutWaiting(2);
  if (!isJournal()) return new LineSink({ descriptor, note: lostNote });
  return withPriorities(new LineSink({ descriptor, note: (lost) => `<${priorityOf(40)}>${lostNote(lost)}` }));
}

/** Systemd says by this variable which file of a service leads to its journal. */
function isJournal(): boolean {
  const { dev, ino } = fstatSync(2);
  return process.env['JOURNAL_STREAM'] === `${dev}:${ino}`;
}

/** The journal takes the number in front of a line as its priority. */
function withPriorities(stream: DestinationStream): DestinationStream {
  return {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 30,
    write(line: string) {
      stream.write(`<${priorityOf(this.lastLevel)}>${line}`);
    },
  } as DestinationStream & { readonly lastLevel: number };
}

/** As syslog counts: 2 critical, 3 error, 4 warning, 6 information, 7 debugging. */
function priorityOf(level: number): number {
  if (level >= 60) return 2;
  if (level >= 50) return 3;
  if (level >= 40) return 4;
  return level >= 30 ? 6 : 7;
}
