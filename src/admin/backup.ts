import { spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { databaseName, keyName, refuseLostDatabase } from '../access/open-data.ts';
import { wrongKeyLength } from '../access/secrets.ts';
import { DiskFull, isDiskFull } from '../core/disk-full.ts';
import { Fault } from '../core/errors.ts';
import { syncDirectory } from '../core/files.ts';
import { copyDatabase } from './database-file.ts';

/** What tar says when the disk is full; of a part that still fitted in it says only how long that was. */
const diskFull = /No space left on device|Disk quota exceeded|Wrote only \d+ of \d+ bytes/;

/** Runs tar with the archive on a standard stream, so that no file name is read as an option or a host. Resolves with what it printed. */
export async function runTar(args: string[], { input, output }: { input?: number; output?: number }): Promise<string> {
  const child = spawn('tar', args, {
    stdio: [input ?? 'ignore', output ?? 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
  });
  const ended = new Promise<number | null>((done, reject) => {
    child.once('error', reject);
    child.once('close', done);
  });
  const [status, printed, complaints] = await Promise.all([
    ended.catch((error: Error) => {
      throw new Fault('unavailable', `The program tar cannot be run: ${error.message}.`);
    }),
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
  ]);
  if (status !== 0) {
    const reason = complaints.trim().split('\n')[0] || `it ended with status ${status}`;
    const sentence = `The program tar failed: ${reason}.`;
    if (diskFull.test(complaints)) throw Object.assign(new Error(sentence), { code: 'ENOSPC' });
    throw new Fault('unavailable', sentence);
  }
  return printed;
}

/** What a backup holds; everything else in the data directory can be made again. */
export const members = { database: databaseName, key: keyName, tls: 'tls', ssh: 'ssh' } as const;

/** Copies the data of a server, running or not, as of one moment into one tar file that only its owner can read. */
export async function backup(dataDir: string, file: string): Promise<void> {
  refuseLostData(dataDir);
  const target = resolve(file);
  try {
    await write(dataDir, target);
  } catch (error) {
    if (isDiskFull(error)) throw new DiskFull('The backup cannot be written', dirname(target), error);
    throw error;
  }
}

async function write(dataDir: string, target: string): Promise<void> {
  const staging = makeStaging(target);
  try {
    copyDatabase(join(dataDir, members.database), join(staging, members.database));
    const copied: string[] = [members.database];
    for (const name of [members.key, members.tls, members.ssh]) {
      if (!existsSync(join(dataDir, name))) continue;
      cpSync(join(dataDir, name), join(staging, name), { recursive: true, dereference: true });
      copied.push(name);
    }
    await pack(staging, copied, `${target}.tmp`);
    renameSync(`${target}.tmp`, target);
    syncDirectory(dirname(target));
  } finally {
    rmSync(staging, { recursive: true, force: true });
    rmSync(`${target}.tmp`, { force: true });
  }
}

/** A backup of what could not be restored must not take the place of a good one. */
function refuseLostData(dataDir: string): void {
  refuseLostDatabase(dataDir);
  for (const name of [members.database, members.key]) {
    if (!existsSync(join(dataDir, name))) {
      throw new Fault('unavailable', `There is nothing to back up in ${dataDir}: ${name} is missing.`);
    }
  }
  const key = join(dataDir, members.key);
  const wrong = wrongKeyLength(key);
  if (wrong !== undefined)
    throw new Fault('unavailable', `The key file ${key} ${wrong}: restore it from an earlier backup.`);
}

function makeStaging(target: string): string {
  try {
    return mkdtempSync(`${target}.staging-`);
  } catch (error) {
    if (isDiskFull(error)) throw error;
    throw new Fault('invalid', `The backup ${target} cannot be written: ${(error as Error).message}.`);
  }
}

async function pack(directory: string, names: string[], file: string): Promise<void> {
  rmSync(file, { force: true });
  const output = openSync(file, 'wx', 0o600);
  try {
    chmodSync(file, 0o600);
    await runTar(['-C', directory, '-cf', '-', ...names], { output });
    fsyncSync(output);
  } finally {
    closeSync(output);
  }
}
