import { closeSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import SQLite from 'better-sqlite3';
import { DiskFull, isDiskFull } from '../../core/disk-full.ts';
import { Fault } from '../../core/errors.ts';
import { metaTable } from '../own-tables.ts';

/** The code of the error that `check` throws; it passes from one thread to another. */
const lostFileCode = 'MUSTER_LOST_FILE';

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

/** The file is no longer there as a whole database: nobody can go on with it. */
export class DatabaseDamaged extends Fault {
  /** `what` goes on after the name of the file. */
  constructor(file: string, what: string, cause: Error) {
    super(
      'unavailable',
      [
        `The database ${file} ${what}.`,
        `Copy ${dirname(file)} aside, then restore the latest backup: muster --data ${dirname(file)} restore BACKUP --replace`,
      ],
      { cause },
    );
    this.name = 'DatabaseDamaged';
  }
}

/** What a failure of SQLite means, where an administrator can do something about it. */
export function explained(error: unknown, file: string): unknown {
  const code = String((error as { code?: unknown } | null)?.code);
  const cause = error as Error;
  if (code === lostFileCode)
    return new DatabaseDamaged(file, `${cause.message} while muster was running, so muster ends`, cause);
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB'))
    return new DatabaseDamaged(file, `is damaged: ${cause.message}`, cause);
  if (isDiskFull(error) || (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && isFull(dirname(file))))
    return new DiskFull('The database could not be written, and nothing was changed', dirname(file), error);
  return error;
}

/** SQLite does not say why it could not make its files larger. */
function isFull(directory: string): boolean {
  const { bavail, files, ffree } = statfsSync(directory);
  return bavail === 0 || (files > 0 && ffree === 0);
}

/** Opens the database file the way both the reader and the writer need it. */
export function openSqlite(file: string, options: { readonly?: boolean } = {}): SQLite.Database {
  // Made here first, since it holds password hashes; SQLite gives its log and index the same mode.
  if (!options.readonly) closeSync(openSync(file, 'a', 0o600));
  const database = new SQLite(file, options);
  if (!options.readonly) {
    database.pragma('journal_mode = WAL');
    // In WAL mode only FULL syncs at every commit, which is what an acknowledged write promises.
    database.pragma('synchronous = FULL');
  }
  database.pragma('busy_timeout = 5000');
  return database;
}

/** Whether muster has made its tables in a database. To SQLite a file without any is a sound database. */
export function hasMusterTables(file: string): boolean {
  try {
    const database = openSqlite(file, { readonly: true });
    try {
      const tables = database.prepare("select count(*) from sqlite_schema where type = 'table' and name = ?").pluck();
      return tables.get(metaTable) === 1;
    } finally {
      database.close();
    }
  } catch (error) {
    throw explained(error, file);
  }
}
