import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import SQLite from 'better-sqlite3';
import { onPostgres, queryPostgres } from './postgresql.ts';

/** Works on the database file from outside, as another program would. */
export function outside<T>(file: string, work: (database: SQLite.Database) => T): T {
  const database = new SQLite(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** The same on the database that the tests run on. */
export const queryOutside = (file: string, sql: string): Record<string, unknown>[] =>
  onPostgres
    ? queryPostgres(dirname(file), sql)
    : outside(file, (database) => database.prepare(sql).all() as Record<string, unknown>[]);

/** How many commits the write-ahead log holds: a frame that ends one tells the size of the database after it. */
export function commitsInLog(file: string): number {
  const log = readFileSync(`${file}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) !== 0) commits++;
  return commits;
}

/** Journal entries that do not say who made them, from where, by which command or in which run. */
export const anonymousEntries = (file: string): Record<string, unknown>[] =>
  queryOutside(file, 'select * from muster_journal where \'\' in ("user", client, command, run)');

/** In whose name a row was written, from where and by which command, as the journal has it. */
export const writersOf = (file: string, table: string, key: string): Record<string, unknown>[] =>
  queryOutside(
    file,
    onPostgres
      ? `select "user", client, command from muster_journal, json_array_elements(changes::json -> '${table}') as row where row ->> 0 = '${key}'`
      : `select user, client, command from muster_journal, json_each(changes -> '${table}') as row where row.value ->> 0 = '${key}'`,
  );
