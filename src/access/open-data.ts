import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import { type DatabaseDamaged, hasMusterTables } from '../database/sqlite/connection.ts';
import type { PostgresPlace } from '../database/postgresql/place.ts';
import { SqliteDatabase } from '../database/sqlite/sqlite.ts';
import { storedSecrets } from '../database/sqlite/seal-secrets.ts';
import { Store } from '../database/store.ts';
import { SecretBox } from './secrets.ts';

export const databaseName = 'muster.sqlite';
export const keyName = 'secret.key';

interface Watchers {
  /** Hears why what others have committed could not be read; it is tried again. */
  readonly failed?: (error: unknown) => void;
  /** Hears that nobody can go on with the database. */
  readonly damaged?: (fault: DatabaseDamaged) => void;
}

/** Where the data of a server are: a directory, and a database in it or elsewhere. */
export interface DataPlace {
  readonly data: string;
  /** Undefined: SQLite in the directory. */
  readonly postgres?: PostgresPlace | undefined;
}

interface OpenedData {
  readonly store: Store;
  readonly box: SecretBox;
  /** Rows that had the names of secrets and were stored in clear text until now. */
  readonly newlySealed: readonly string[];
}

/** Opens database and key, or makes both. What is left of a cluster's data is never taken for a new cluster. */
export function openData({ data, postgres }: DataPlace, watchers: Watchers = {}): Promise<OpenedData> {
  return postgres ? openPostgres(data, postgres, watchers) : openSqlite(data, watchers);
}

async function openPostgres(dataDir: string, place: PostgresPlace, { failed }: Watchers): Promise<OpenedData> {
  const key = join(dataDir, keyName);
  let box: SecretBox | undefined;
  // With SQLite nobody needs its client.
  const { PostgresDatabase } = await import('../database/postgresql/postgresql.ts');
  const { shownPlace } = await import('../database/postgresql/place.ts');
  const database = await PostgresDatabase.open(place, {
    async prepare(claim) {
      const stored = await claim.stored();
      if (stored !== undefined && !existsSync(key))
        throw new Fault('unavailable', [
          `${key} is missing: the database ${shownPlace(place)} holds secrets that were encrypted with the key of its servers.`,
          `Copy secret.key of another server to ${key} (mode 600), or get all that it has with muster join. Then start muster again.`,
        ]);
      box = SecretBox.open(key);
      if (stored === undefined) await claim.store(box.fingerprint);
      else if (stored !== box.fingerprint)
        throw new Fault('unavailable', [
          `${key} is not the key of the database ${shownPlace(place)}: its servers have another one.`,
          `Replace it with secret.key of another server (mode 600), or name another database. Then start muster again.`,
        ]);
      return box;
    },
  });
  try {
    return { store: await Store.open(database, failed), box: box!, newlySealed: database.newlySealed };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openSqlite(dataDir: string, { failed, damaged }: Watchers): Promise<OpenedData> {
  refuseLostDatabase(dataDir);
  const key = join(dataDir, keyName);
  const box = existsSync(key) ? SecretBox.open(key) : undefined;
  // Before anything is sealed with it.
  if (box) refuseOtherKey(dataDir, box);
  const database = await SqliteDatabase.open(join(dataDir, databaseName), { sealing: box, damaged });
  try {
    const store = await Store.open(database, failed);
    if (!box && store.current.revision > 0) throw lostKey(dataDir);
    // The key of a new database is made last: a start that was killed before that leaves nothing that would be refused.
    return { store, box: box ?? SecretBox.open(key), newlySealed: database.newlySealed };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Refuses a database that is missing or empty beside what only a cluster has. */
export function refuseLostDatabase(dataDir: string): void {
  const file = join(dataDir, databaseName);
  const size = sizeOf(file);
  // A first start that was killed leaves a log beside a database without tables, but never a key.
  const left = (size ? [keyName] : [keyName, `${databaseName}-wal`]).find((name) => sizeOf(join(dataDir, name)));
  if (left === undefined || (size && hasMusterTables(file))) return;
  throw new Fault('unavailable', [
    `${file} is ${size === undefined ? 'missing' : 'empty'}, but ${left} beside it belongs to the database of a cluster.`,
    `${restoring(dataDir)} For a new cluster choose another directory with --data.`,
  ]);
}

/** One secret that does not open may have been changed; a key that opens none is of another cluster. */
function refuseOtherKey(dataDir: string, box: SecretBox): void {
  let unopened = 0;
  for (const { value, context } of storedSecrets(join(dataDir, databaseName))) {
    if (!box.isSealed(value)) continue;
    if (box.opens(value, context)) return;
    unopened++;
  }
  if (unopened === 0) return;
  throw new Fault('unavailable', [
    `${join(dataDir, keyName)} is not the key of the database beside it: none of the secrets there (${unopened}) can be decrypted with it.`,
    `Put the right key back, or restore it with the database. ${restoring(dataDir)}`,
  ]);
}

const lostKey = (dataDir: string): Fault =>
  new Fault('unavailable', [
    `${join(dataDir, keyName)} is missing: without it the secrets in the database cannot be read.`,
    `Put it back, or restore it with the database. ${restoring(dataDir)}`,
  ]);

const sizeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size;

const restoring = (dataDir: string): string =>
  `Copy ${dataDir} aside, then restore the latest backup: muster --data ${dataDir} restore BACKUP --replace.`;
