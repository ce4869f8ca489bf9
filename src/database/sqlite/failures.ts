import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DiskFull, isDiskFull } from '../../core/disk-full.ts';
import { Fault } from '../../core/errors.ts';
import { lostFileCode } from './opened-file.ts';

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
  if (isDiskFull(error) || (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && hasNoRoom(dirname(file))))
    return new DiskFull('The database could not be written, and nothing was changed', dirname(file), error);
  return error;
}

/** SQLite does not tell why it could not make its files larger. */
function hasNoRoom(directory: string): boolean {
  const { bavail, files, ffree } = statfsSync(directory);
  return bavail === 0 || (files > 0 && ffree === 0);
}
