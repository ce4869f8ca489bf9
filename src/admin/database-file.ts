import { closeSync, openSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { Fault } from '../core/errors.ts';
import { DatabaseDamaged, explained, hasMusterTables } from '../database/sqlite/connection.ts';

/** One read transaction: what the server commits meanwhile is left out as a whole. */
export function copyDatabase(from: string, to: string): void {
  const connection = new Sqlite(from, { readonly: true, timeout: 10_000 });
  try {
    // Made first, since SQLite would let everybody read it.
    closeSync(openSync(to, 'wx', 0o600));
    connection.prepare('VACUUM INTO ?').run(to);
  } catch (error) {
    const cause = explained(error, from);
    throw cause instanceof DatabaseDamaged ? cause : explained(error, to);
  } finally {
    connection.close();
  }
  if (!hasMusterTables(to)) throw new Fault('unavailable', `The database ${from} is empty. No backup was written.`);
}

/** Why nobody could work with the database in a file, if so: it goes on after "its database". */
export function databaseProblem(file: string): string | undefined {
  let verdict: unknown;
  try {
    const connection = new Sqlite(file, { readonly: true });
    try {
      verdict = connection.pragma('integrity_check', { simple: true });
    } finally {
      connection.close();
    }
  } catch (error) {
    verdict = (error as Error).message;
  }
  if (verdict !== 'ok') return `is damaged (${String(verdict).split('\n')[0]})`;
  return hasMusterTables(file) ? undefined : 'is empty';
}
