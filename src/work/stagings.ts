import { spawn } from 'node:child_process';
import { lstat, mkdir, realpath, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../core/errors.ts';
import { checkSafeDirectory } from '../core/files.ts';

export const stagingName = (run: string, number: number): string => `.muster-${run}-${number}`;

/** Where a staging of a run is to be made. */
export async function stagingPath(beside: string, run: string, number: number): Promise<string> {
  const directory = await realpath(beside).catch((error: Error) => {
    throw new Fault('invalid', `${beside} cannot be used as a working directory: ${error.message}.`);
  });
  checkSafeDirectory(directory);
  return join(directory, stagingName(run, number));
}

export const makeStaging = (path: string): Promise<unknown> => mkdir(path, { mode: 0o700 });

/** Fails if less is free on the file system of a directory. */
export async function checkReserve(directory: string, reserve: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize >= reserve) return;
  throw new Fault(
    'unavailable',
    `The file system of ${directory} has only ${bavail * bsize} bytes free, and long work must leave ${reserve} free (setting longWork.reserve); free some space there and try again.`,
  );
}

const attempts = 5;
const betweenAttempts = 200;

/**
 * Removes a staging of a run, and nothing else whatever its path has become: it must have the name of one, be a directory and lie
 * where it was made. It may be large, so another process does it, until the signal says that it takes too long; that process does
 * not follow links.
 */
export async function removeStaging(path: string, run: string, signal?: AbortSignal): Promise<void> {
  const [, number = ''] = basename(path).split(`${run}-`);
  if (basename(path) !== stagingName(run, Number(number)))
    throw new Error(`${path} is not a temporary directory of run ${run}.`);
  for (let attempt = 1; ; attempt++) {
    if (!(await isThere(path))) return;
    try {
      return await removeTree(path, signal);
    } catch (error) {
      // Processes that were killed a moment ago may still have made a file in it.
      if (attempt === attempts || signal?.aborted) throw error;
      await pause(betweenAttempts * attempt);
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    if ((await realpath(dirname(path))) !== dirname(path)) return false;
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function removeTree(path: string, signal: AbortSignal | undefined): Promise<void> {
  const child = spawn('nice', ['-n', '10', 'rm', '-rf', '--one-file-system', '--', path], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(signal ? { signal } : {}),
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, complaints] = await Promise.all([ended, text(child.stderr)]);
  if (code !== 0) throw new Error(`${path} could not be removed: ${complaints.slice(0, 1_000).trim()}`);
}
