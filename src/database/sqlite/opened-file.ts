import { statSync } from 'node:fs';

/** The code of the error that `check` throws; it passes from one thread to another. */
export const lostFileCode = 'MUSTER_LOST_FILE';

/** Notices that a database file is no longer the one that was opened: SQLite would go on with one that has no name, and all of it would go at the end. */
export class OpenedFile {
  readonly #file: string;
  readonly #device: number;
  readonly #inode: number;

  constructor(file: string) {
    const { dev, ino } = statSync(file);
    this.#file = file;
    this.#device = dev;
    this.#inode = ino;
  }

  check(): void {
    const status = statSync(this.#file, { throwIfNoEntry: false });
    if (status?.dev === this.#device && status.ino === this.#inode) return;
    const what = status ? 'was replaced by another file' : 'was removed';
    throw Object.assign(new Error(what), { code: lostFileCode });
  }
}
