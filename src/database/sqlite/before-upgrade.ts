import { closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type SQLite from 'better-sqlite3';
import { makeDirectory, syncDirectory, writeFileAtomically } from '../../core/files.ts';

/** Copies of databases as they were before a newer version changed their form, in the data directory. */
const directoryName = 'before-upgrade';
/** An upgrade that is tried again and again must not fill the disk. */
const copiesKept = 3;
const copy = /^\d{8}T\d{6}Z\.sqlite$/;

/** Copies of earlier forms, the oldest first. */
export function copiesBeforeUpgrades(dataDir: string): string[] {
  const directory = join(dataDir, directoryName);
  if (!statSync(directory, { throwIfNoEntry: false })) return [];
  return readdirSync(directory)
    .filter((name) => copy.test(name))
    .toSorted()
    .map((name) => join(directory, name));
}

/** Names the copy of an upgrade that was begun and has not ended. */
const unfinishedName = 'unfinished';

/** The upgrade has ended: the next one makes a copy of its own. */
export function noteUpgraded(file: string): void {
  rmSync(join(dirname(file), directoryName, unfinishedName), { force: true });
}

/** Copies the database whole: with the copy the version before can start again. Whatever is not copied is not changed either. */
export function saveBeforeUpgrade(database: SQLite.Database, file: string): void {
  const dataDir = dirname(file);
  const directory = join(dataDir, directoryName);
  makeDirectory(directory);
  // One that is tried again begins with what was half changed before: the first copy is the good one.
  const unfinished = join(directory, unfinishedName);
  if (existsSync(unfinished) && existsSync(join(directory, readFileSync(unfinished, 'utf8')))) return;
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const partial = join(directory, `${time}.partial`);
  try {
    // Made first, since SQLite would let everybody read it.
    closeSync(openSync(partial, 'w', 0o600));
    database.prepare('VACUUM INTO ?').run(partial);
    renameSync(partial, join(directory, `${time}.sqlite`));
    writeFileAtomically(unfinished, `${time}.sqlite`, 0o600);
  } finally {
    rmSync(partial, { force: true });
  }
  syncDirectory(directory);
  for (const old of copiesBeforeUpgrades(dataDir).slice(0, -copiesKept)) rmSync(old);
}
