import { closeSync, openSync } from 'node:fs';
import Sqlite from 'better-sqlite3';

export interface FileLock {
  release(): void;
}

/** A connection that nothing refers to is closed by the garbage collector, and its lock with it. */
const locks = new Set<Sqlite.Database>();

/** Locks a file made for that until `release` or the death of the process. Undefined if another has the lock. */
export function tryLock(file: string): FileLock | undefined {
  provideFile(file);
  const connection = new Sqlite(file, { timeout: 0 });
  try {
    connection.pragma('locking_mode = EXCLUSIVE');
    connection.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    connection.close();
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
  locks.add(connection);
  return {
    release() {
      if (locks.delete(connection)) connection.close();
    },
  };
}

/** Whoever may read the file can lock it, so nobody else may. It is not opened if it exists: closing it would end this process's lock on it. */
function provideFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
