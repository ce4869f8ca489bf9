import { closeSync, copyFileSync, fstatSync, openSync, readSync, renameSync, statSync, truncateSync } from 'node:fs';
import type { Logger } from '../../core/log.ts';

const largestLog = 16 * 1024 * 1024;

/** What a daemon that muster supervises prints: the newest in its file, and what was before it in `.1`. */
export class DaemonLog {
  readonly file: string;
  readonly #daemon: string;
  readonly #log: Logger;
  #isTrimmed = true;

  constructor(file: string, daemon: string, log: Logger) {
    this.file = file;
    this.#daemon = daemon;
    this.#log = log;
  }

  /** For the output of the daemon. One whose log cannot be opened, on a full disk for instance, runs without one. */
  open(): number {
    try {
      if (this.#isTooLarge()) renameSync(this.file, `${this.file}.1`);
      // To append, so that the daemon goes on at the beginning of a file that was emptied.
      return openSync(this.file, 'a', 0o600);
    } catch (error) {
      this.#log.error({ err: error }, `${this.#daemon} runs without its log ${this.file}, which cannot be opened`);
      return openSync('/dev/null', 'a');
    }
  }

  /** While the daemon runs, which keeps its file open: what it printed so far is copied, and the file emptied. */
  trim(): void {
    try {
      if (!this.#isTooLarge()) return;
      try {
        copyFileSync(this.file, `${this.file}.1`);
      } finally {
        // Above all the disk must not fill up, also where it has no room for the copy.
        truncateSync(this.file);
      }
      this.#isTrimmed = true;
    } catch (error) {
      if (this.#isTrimmed) this.#log.error({ err: error }, `the log ${this.file} of ${this.#daemon} cannot be kept`);
      this.#isTrimmed = false;
    }
  }

  /** The end of the log, on one line. */
  lastWords(): string {
    let handle: number;
    try {
      handle = openSync(this.file, 'r');
    } catch {
      return '';
    }
    try {
      const tail = Buffer.alloc(2_048);
      const { size } = fstatSync(handle);
      const read = readSync(handle, tail, 0, tail.length, Math.max(0, size - tail.length));
      return tail
        .toString('utf8', 0, read)
        .trim()
        .split('\n')
        .slice(-4)
        .join(' | ')
        .replaceAll(/[^\x20-\x7e]/g, '?');
    } finally {
      closeSync(handle);
    }
  }

  #isTooLarge(): boolean {
    const status = statSync(this.file, { throwIfNoEntry: false });
    return status?.isFile() === true && status.size > largestLog;
  }
}
