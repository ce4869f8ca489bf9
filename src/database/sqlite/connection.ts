import SQLite from 'better-sqlite3';

/** Opens the database file the way both the reader and the writer need it. */
export function openSqlite(file: string, options: { readonly?: boolean } = {}): SQLite.Database {
  const database = new SQLite(file, options);
  if (!options.readonly) {
    database.pragma('journal_mode = WAL');
    // In WAL mode only FULL syncs at every commit, which is what an acknowledged write promises.
    database.pragma('synchronous = FULL');
  }
  database.pragma('busy_timeout = 5000');
  return database;
}
