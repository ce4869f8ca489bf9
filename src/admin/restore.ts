import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { wrongKeyLength } from '../access/secrets.ts';
import { DiskFull, isDiskFull } from '../core/disk-full.ts';
import { Fault } from '../core/errors.ts';
import { syncDirectory } from '../core/files.ts';
import { finishRestore, lockDataDirectory, lockFileNames, makeTreePrivate, readyName } from '../database/lock.ts';
import { members, runTar } from './backup.ts';
import { databaseProblem } from './database-file.ts';

const partialName = 'restore.partial';
const allowedMember = /^(muster\.sqlite|secret\.key|(?:tls|ssh)\/[A-Za-z0-9._-]*)$/;

/** Puts a backup in place of the data of a stopped server: once it is unpacked and checked it comes, even if we are killed half-way. */
export async function restore(dataDir: string, file: string, { replace }: { replace: boolean }): Promise<void> {
  const lock = lockDataDirectory(dataDir);
  const partial = join(dataDir, partialName);
  try {
    rmSync(partial, { recursive: true, force: true });
    const present = readdirSync(dataDir).filter((name) => !lockFileNames.includes(name));
    if (present.length > 0 && !replace) {
      throw new Fault('invalid', `The data directory ${dataDir} is not empty. Use --replace to replace what it holds.`);
    }
    await unpack(file, join(partial, 'new')).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error;
      throw new DiskFull('The backup cannot be unpacked, and nothing was changed', dataDir, error);
    });
    const problem = databaseProblem(join(partial, 'new', members.database));
    if (problem !== undefined) throw notABackup(file, `its database ${problem}`);
    const wrong = wrongKeyLength(join(partial, 'new', members.key));
    if (wrong !== undefined) throw notABackup(file, `its ${members.key} ${wrong}`);
    dropNames(join(partial, 'new', members.tls));
    renameSync(partial, join(dataDir, readyName));
    syncDirectory(dataDir);
    finishRestore(dataDir);
  } finally {
    rmSync(partial, { recursive: true, force: true });
    lock.release();
  }
}

async function unpack(file: string, directory: string): Promise<void> {
  await checkMembers(file);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  await withTar(file, ['-C', directory, '--no-same-owner', '-xpf', '-']);
  makeTreePrivate(directory);
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) syncFile(join(entry.parentPath, entry.name));
  }
}

/**
 * The certificate of the server has the names and addresses of the machine that the backup is of. At its start the server makes one
 * for where it is now, by the same authority, so that clients trust it still.
 */
function dropNames(tls: string): void {
  if (existsSync(join(tls, 'ca.key'))) rmSync(join(tls, 'server.pem'), { force: true });
}

/** Nothing is unpacked but plain files under the names a backup has: a tar file can otherwise write anywhere. */
async function checkMembers(file: string): Promise<void> {
  const names = lines(await withTar(file, ['-tf', '-']));
  const foreign = names.find((name) => !allowedMember.test(name) || name.endsWith('/..'));
  if (foreign !== undefined) throw notABackup(file, `it contains "${foreign}"`);
  const kinds = lines(await withTar(file, ['-tvf', '-'])).map((line) => line[0]);
  if (kinds.some((kind) => kind !== '-' && kind !== 'd')) throw notABackup(file, 'it contains links or devices');
  for (const name of [members.database, members.key]) {
    if (!names.includes(name)) throw notABackup(file, `${name} is missing in it`);
  }
}

async function withTar(file: string, args: string[]): Promise<string> {
  let input: number;
  try {
    input = openSync(file, 'r');
  } catch (error) {
    throw new Fault('invalid', `The backup ${file} cannot be read: ${(error as Error).message}.`);
  }
  try {
    return await runTar(args, { input });
  } catch (error) {
    if (isDiskFull(error)) throw error;
    throw notABackup(file, (error as Error).message);
  } finally {
    closeSync(input);
  }
}

function syncFile(file: string): void {
  const handle = openSync(file, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

const lines = (text: string) => text.split('\n').filter((line) => line !== '');

function notABackup(file: string, why: string): Fault {
  return new Fault(
    'invalid',
    `${file} is not a whole backup of muster: ${why.replace(/\.$/, '')}. Nothing was changed.`,
  );
}
