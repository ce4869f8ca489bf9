import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { databaseName, type DataPlace, keyName } from '../access/open-data.ts';
import { SecretBox } from '../access/secrets.ts';
import { Fault } from '../core/errors.ts';
import { isPostgresUrl } from '../core/settings.ts';
import { lockDataDirectory } from '../database/lock.ts';
import { copiedTables, type CopiedTable, rowsHash } from '../database/copied-tables.ts';
import { type PostgresPlace, shownPlace } from '../database/postgresql/place.ts';
import { PostgresCopy } from '../database/postgresql/copy.ts';
import { SqliteCopy } from '../database/sqlite/copy.ts';

/** One end of a move: a database that all tables are read from or written to. */
export interface CopyEnd {
  /** All rows of a table, in the order of its keys. */
  read(table: CopiedTable): AsyncIterable<readonly (readonly CopiedValue[])[]>;
  write(table: CopiedTable, rows: readonly (readonly CopiedValue[])[]): Promise<void>;
  /** Makes what was written last. */
  finish(): Promise<void>;
  /** Takes back what was written, unless it was finished. */
  close(): Promise<void>;
}

export type CopiedValue = string | number | null;

export interface MoveReport {
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Where the data are now. */
  readonly to: string;
  /** The file that holds what was there before; undefined if that is a database elsewhere. */
  readonly kept: string | undefined;
}

const movedName = `${databaseName}.moved`;

/** Moves the data of a server to where `to` says: the URL of a PostgreSQL database, or sqlite. */
export function moveTo({ data, postgres }: DataPlace, to: string, passwordFile?: string): Promise<MoveReport> {
  if (to === 'sqlite') {
    if (postgres) return moveToSqlite(data, postgres);
    throw new Fault(
      'unavailable',
      'The data are in SQLite already: the setting database names no PostgreSQL database.',
    );
  }
  if (!isPostgresUrl(to)) throw new Fault('unavailable', '--to takes a URL postgresql://user@host/name, or sqlite.');
  if (!postgres) return moveToPostgres(data, { url: to, passwordFile });
  throw new Fault(
    'unavailable',
    `The data are in ${shownPlace(postgres)} already. To move them from one PostgreSQL server to another, use pg_dump.`,
  );
}

/** Copies everything from SQLite in the data directory to PostgreSQL, compares it there, and puts the file aside. The server must be stopped. */
async function moveToPostgres(dataDir: string, place: PostgresPlace): Promise<MoveReport> {
  const lock = lockDataDirectory(dataDir);
  try {
    const file = join(dataDir, databaseName);
    if (!existsSync(file))
      throw new Fault('unavailable', `There is no ${file} to move. Name the data directory with --data.`);
    const box = SecretBox.open(join(dataDir, keyName));
    const source = await SqliteCopy.source(file);
    const target = await PostgresCopy.target(place, box.fingerprint);
    const rows = await copyAll(source, target);
    renameSync(file, join(dataDir, movedName));
    for (const ending of ['-wal', '-shm']) rmSync(`${file}${ending}`, { force: true });
    return { rows, to: shownPlace(place), kept: join(dataDir, movedName) };
  } finally {
    lock.release();
  }
}

/** The same back. All servers of the database must be stopped. */
async function moveToSqlite(dataDir: string, place: PostgresPlace): Promise<MoveReport> {
  const lock = lockDataDirectory(dataDir);
  try {
    const file = join(dataDir, databaseName);
    if (existsSync(file))
      throw new Fault(
        'unavailable',
        `${file} exists already. Move it away, or name another data directory with --data.`,
      );
    const box = SecretBox.open(join(dataDir, keyName));
    const source = await PostgresCopy.source(place, box.fingerprint);
    const target = await SqliteCopy.target(file);
    return { rows: await copyAll(source, target), to: file, kept: undefined };
  } finally {
    lock.release();
  }
}

/** All or nothing: what arrived is read again and compared before it counts. */
async function copyAll(source: CopyEnd, target: CopyEnd): Promise<Record<string, number>> {
  try {
    const copied: Record<string, number> = {};
    for (const table of copiedTables) {
      const sent = rowsHash();
      for await (const rows of source.read(table)) {
        sent.add(rows);
        await target.write(table, rows);
      }
      const arrived = rowsHash();
      for await (const rows of target.read(table)) arrived.add(rows);
      if (sent.digest() !== arrived.digest())
        throw new Fault(
          'unavailable',
          `Table ${table.name} is not the same after it was copied (${sent.count} rows, ${arrived.count} arrived). Nothing was moved.`,
        );
      if (sent.count > 0) copied[table.name] = sent.count;
    }
    await target.finish();
    return copied;
  } finally {
    await Promise.allSettled([source.close(), target.close()]);
  }
}
