import { closeSync, openSync } from 'node:fs';
import SQLite from 'better-sqlite3';
import { explained } from './failures.ts';
import { metaTable } from './statements.ts';

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
