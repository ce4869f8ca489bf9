import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { databaseName } from '../access/open-data.ts';
import { DiskFull, isDiskFull } from '../core/disk-full.ts';
import { Fault } from '../core/errors.ts';
import { syncDirectory } from '../core/files.ts';
import { finishRestore, lockDataDirectory, readyName } from '../database/lock.ts';
import { DatabaseDamaged } from '../database/sqlite/connection.ts';
import { copiesBeforeUpgrades, noteUpgraded } from '../database/sqlite/before-upgrade.ts';
import { copyDatabase, databaseProblem } from './database-file.ts';

const partialName = 'restore.partial';

const timeOf = (copy: string): string => basename(copy, '.sqlite');
const shown = (time: string): string => time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3 $4:$5:$6 UTC');

/**
 * Puts back the database as it was before the upgrade of this time changed it, so that the version before can start. Returns what to do
 * next. Without a time it changes nothing, and lists what there is.
 */
export function rollBackUpgrade(dataDir: string, time: string | undefined): string {
  const lock = lockDataDirectory(dataDir);
  const partial = join(dataDir, partialName);
  try {
    const copies = copiesBeforeUpgrades(dataDir);
    if (copies.length === 0)
      throw new Fault('invalid', [
        `${dataDir} has no copy of the database from before an upgrade: no version has changed the form of this database yet.`,
        'The version before can start on it as it is.',
      ]);
    if (time === undefined) return listOf(copies);
    const copy = copies.find((each) => timeOf(each) === time);
    if (copy === undefined) throw new Fault('invalid', [`There is no copy of the time "${time}".`, listOf(copies)]);
    const problem = databaseProblem(copy);
    if (problem !== undefined)
      throw new Fault('unavailable', `The copy ${copy} ${problem}. Restore a backup instead; nothing was changed.`);
    const undone = freeName(dataDir);
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(join(partial, 'new'), { recursive: true, mode: 0o700 });
    try {
      keepAside(join(dataDir, databaseName), join(partial, 'undone'));
      copyDatabase(copy, join(partial, 'new', databaseName));
    } catch (error) {
      if (isDiskFull(error))
        throw new DiskFull('The database cannot be put back, and nothing was changed', dataDir, error);
      throw error;
    }
    for (const end of logEnds)
      if (existsSync(join(partial, `undone${end}`))) renameSync(join(partial, `undone${end}`), `${undone}${end}`);
    renameSync(partial, join(dataDir, readyName));
    syncDirectory(dataDir);
    finishRestore(dataDir);
    noteUpgraded(join(dataDir, databaseName));
    return [
      `The database is as it was before the upgrade of ${shown(time)}. What was written since is in ${undone}.`,
      'Install the version before the upgrade now, and start it.',
    ].join('\n');
  } finally {
    rmSync(partial, { recursive: true, force: true });
    lock.release();
  }
}

const listOf = (copies: readonly string[]): string =>
  [
    'Name the upgrade to take back by its time: muster rollback-upgrade TIME. What was written since is then missing. There are:',
    ...copies.map((copy) => `  ${timeOf(copy)}   ${shown(timeOf(copy))}`),
    'If the last upgrade is not among them, it did not change the form of the database: the version before it starts as it is.',
  ].join('\n');

/** For what the version that is given up has written: nothing of an earlier rollback is replaced. */
function freeName(dataDir: string): string {
  for (let number = 1; ; number++) {
    const name = join(dataDir, `undone-upgrade-${number}.sqlite`);
    if (!existsSync(name)) return name;
  }
}

/** A database and its log of commits that are not in it yet. */
const logEnds = ['', '-wal'] as const;

/** Damage may be the very reason for going back: then the files are copied as they are. */
function keepAside(file: string, copy: string): void {
  try {
    copyDatabase(file, copy);
  } catch (error) {
    if (!(error instanceof DatabaseDamaged)) throw error;
    for (const end of logEnds) if (existsSync(`${file}${end}`)) copyFileSync(`${file}${end}`, `${copy}${end}`);
  }
}
