import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DiskFull, isDiskFull } from '../../core/disk-full.ts';
import { Fault } from '../../core/errors.ts';

/** The file is no longer a whole database: nobody can go on with it. */
export class DatabaseDamaged extends Fault {
  constructor(file: string, cause: Error) {
    super(
      'unavailable',
      [
        `The database ${file} is damaged: ${cause.message}.`,
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
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB'))
    return new DatabaseDamaged(file, error as Error);
  if (isDiskFull(error) || (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && hasNoRoom(dirname(file))))
    return new DiskFull('The database could not be written, and nothing was changed', dirname(file), error);
  return error;
}

/** SQLite does not tell why it could not make its files larger. */
function hasNoRoom(directory: string): boolean {
  const { bavail, files, ffree } = statfsSync(directory);
  return bavail === 0 || (files > 0 && ffree === 0);
}
