import {
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  lstatSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Fault } from '../core/errors.ts';
import { complain } from '../core/line-sink.ts';
import { tryLock } from '../core/file-lock.ts';
import { checkSafeDirectory, makeDirectory, syncDirectory, syncFile } from '../core/files.ts';
import { backupName, isUnfinished, superfluous } from './backup-names.ts';
import { readBackupState, writeBackupState } from './backup-state.ts';
import { backup } from './backup.ts';
import type { BackupSettings } from './settings.ts';

const lockName = '.muster-backup.lock';

/**
 * Makes a backup in the directory of the settings, copies it to another machine if they say so, and removes those that need not be kept
 * any more. Notes how it went, for `muster doctor`. Returns the file.
 */
export async function rotateBackups(dataDir: string, settings: BackupSettings, now = new Date()): Promise<string> {
  const problems: string[] = [];
  let file: string | undefined;
  try {
    file = await makeOne(dataDir, settings, now);
    await copyAway(file, dataDir, settings);
  } catch (error) {
    problems.push(...(error instanceof Fault ? error.sentences : [(error as Error).message]));
    noteFailure(dataDir, now, file, problems);
    throw error;
  }
  const time = now.toISOString();
  writeBackupState(dataDir, { last: time, good: time, file, bytes: statSync(file).size, problems });
  return file;
}

function noteFailure(dataDir: string, now: Date, file: string | undefined, problems: readonly string[]): void {
  // A name for the data directory that is wrong is an error of its own, and nothing to note there.
  if (!existsSync(dataDir)) return;
  const good = readBackupState(dataDir)?.good;
  try {
    writeBackupState(dataDir, {
      last: now.toISOString(),
      ...(good === undefined ? {} : { good }),
      ...(file === undefined ? {} : { file, bytes: statSync(file).size }),
      problems: [...problems],
    });
  } catch (error) {
    // The same full disk, as a rule: why the backup failed is what somebody has to know first.
    complain(`muster: It could not be noted that the backup failed: ${(error as Error).message}.\n`);
  }
}

async function makeOne(dataDir: string, settings: BackupSettings, now: Date): Promise<string> {
  const directory = directoryOf(settings);
  return inTurn(directory, async () => {
    const file = join(directory, backupName(now));
    await backup(dataDir, file);
    prune(file, settings);
    return file;
  });
}

function directoryOf({ directory }: BackupSettings): string {
  if (directory === undefined)
    throw new Fault('invalid', [
      'The setting backup.directory is missing.',
      'Name a directory for the backups in the section [backup] of the settings, as directory = "/var/backups/muster".',
    ]);
  const path = resolve(directory);
  try {
    makeDirectory(path);
    if (!statSync(path).isDirectory()) throw new Error('it is no directory');
    const real = realpathSync(path);
    checkSafeDirectory(real);
    return real;
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault('unavailable', `The directory for backups, ${path}, cannot be used: ${(error as Error).message}.`);
  }
}

/** One that is under way is neither disturbed nor taken for something that a killed one left. */
async function inTurn<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const lock = tryLock(join(directory, lockName));
  if (!lock) throw new Fault('unavailable', `Another backup in ${directory} is under way. Wait until it has ended.`);
  try {
    for (const name of readdirSync(directory).filter(isUnfinished)) rmSync(join(directory, name), { recursive: true });
    return await work();
  } finally {
    lock.release();
  }
}

/** Only after a new one is complete. That one stays, also where a clock that was wrong has left some of later times. */
function prune(made: string, settings: BackupSettings): void {
  const directory = dirname(made);
  const files = readdirSync(directory).filter((name) => lstatSync(join(directory, name)).isFile());
  for (const name of superfluous(files, settings)) if (name !== basename(made)) rmSync(join(directory, name));
  syncDirectory(directory);
}

/** The copy is read again: a disk elsewhere may take what it cannot keep. */
async function copyAway(file: string, dataDir: string, settings: BackupSettings): Promise<void> {
  if (settings.offSite === undefined) return;
  const directory = resolve(settings.offSite);
  checkMounted(directory, [resolve(file, '..'), dataDir]);
  const target = join(directory, file.slice(resolve(file, '..').length + 1));
  const staging = `${target}.tmp`;
  try {
    rmSync(staging, { force: true });
    copyFileSync(file, staging, constants.COPYFILE_EXCL);
    await syncFile(staging);
    if ((await hashOf(staging)) !== (await hashOf(file)))
      throw new Fault('unavailable', `The copy ${staging} differs from ${file}: the file system there has lost data.`);
    renameSync(staging, target);
    for (const name of readdirSync(directory).filter(isUnfinished)) rmSync(join(directory, name), { recursive: true });
    prune(target, settings);
  } catch (error) {
    rmSync(staging, { force: true });
    if (error instanceof Fault) throw error;
    throw new Fault('unavailable', [
      `The backup ${file} was made, but it could not be copied to ${directory}: ${(error as Error).message}.`,
      'Look whether that machine can be reached, and whether it has room.',
    ]);
  }
}

/** What lies beside the data is lost with them. */
function checkMounted(directory: string, here: readonly string[]): void {
  const refuse = (why: string): Fault =>
    new Fault('unavailable', [
      `The backup was made, but not copied: the directory backup.offSite, ${directory}, ${why}.`,
      'Mount a directory of another machine there.',
    ]);
  const there = statSync(directory, { throwIfNoEntry: false });
  if (!there?.isDirectory()) throw refuse(there ? 'is no directory' : 'does not exist');
  const same = here.find((each) => statSync(each).dev === there.dev);
  if (same !== undefined) throw refuse(`is on the same file system as ${same}`);
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
