import { lstatSync, type Stats, statfsSync } from 'node:fs';
import { mkdir, rename, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault } from '../core/errors.ts';
import { checkSafeDirectory, syncDirectory } from '../core/files.ts';
import type { StagingOptions, Work } from '../work/index.ts';
import type { Act } from './manifest.ts';
import { checkStillReal } from './real-paths.ts';

/** Bytes, less than which a program may have missed. */
const scarce = 16 * 1024 * 1024;

/** What all work on an image knows of it. */
export interface ImageJob {
  readonly image: string;
  readonly osvers: string;
  readonly osarch: string;
  readonly profile: string;
  /** Its rootimgdir, judged. */
  readonly directory: string;
  /** Who asked for it. */
  readonly by: string;
}

/** Where an image lies if nothing else is said. Those of statelite have roots of their own, so that both can be built of one profile. */
export const usualDirectory = (
  installDirectory: string,
  { method, osvers, osarch, profile }: Pick<ImageJob, 'osvers' | 'osarch' | 'profile'> & { readonly method: string },
): string => join(installDirectory, method === 'statelite' ? 'statelite' : 'netboot', osvers, osarch, profile);

export const actNow = ({ by }: Pick<ImageJob, 'by'>, { run }: Work): Act => ({
  when: new Date().toISOString(),
  by,
  run,
});

/** Seconds that stand for the time of an act wherever output has to be the same for the same input. */
export const epochOf = ({ when }: Act): number => Math.floor(Date.parse(when) / 1_000);

/** A directory on the file system on which `directory` lies or is going to lie. */
export async function stagingFor(directory: string, task: Work, options?: StagingOptions): Promise<string> {
  checkStillReal(directory);
  checkSafeDirectory(directory);
  let beside = dirname(directory);
  while (entryOf(beside) === undefined) beside = dirname(beside);
  const own = entryOf(directory);
  // A file system of its own: nothing can be renamed into it from beside.
  if (own && own.dev !== entryOf(beside)!.dev) beside = directory;
  return task.staging(beside, options);
}

/** Puts a new directory in its place with the directories above it, or leaves nothing. Others may do the same beside it. */
export async function putInPlace(made: string, directory: string): Promise<void> {
  checkStillReal(directory);
  const missing: string[] = [];
  for (let path = dirname(directory); entryOf(path) === undefined; path = dirname(path)) missing.unshift(path);
  const own: string[] = [];
  try {
    for (const path of missing) if (await isDone(mkdir(path, { mode: 0o755 }), 'EEXIST')) own.unshift(path);
    if (await isDone(rename(made, directory), 'ENOTEMPTY', 'EEXIST')) return syncDirectory(dirname(directory));
  } catch (error) {
    for (const path of own) await isDone(rmdir(path), 'ENOTEMPTY');
    throw error;
  }
  throw new Fault('conflict', `Another request made ${directory} meanwhile; nothing of this one was kept.`);
}

/** Whether it was done; false if another was first, as these codes say. */
async function isDone(change: Promise<void>, ...codes: readonly string[]): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

export const entryOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

/** Programs do not always say why they failed. */
function withFreeSpace(fault: Fault, place: string): Fault {
  let beside = place;
  while (entryOf(beside) === undefined) beside = dirname(beside);
  const { bavail, bsize } = statfsSync(beside);
  const free = bavail * bsize;
  if (fault.kind !== 'invalid' || free >= scarce) return fault;
  const sentence = `The disk of ${beside} has only ${free} bytes left: that may be the reason.`;
  return new Fault(fault.kind, [...fault.sentences, sentence], { cause: fault });
}

/** What a full disk or a vanished one does to any step is reported as what it is; `place` is on it, or is going to be. */
export async function explainingDisk<T>(what: string, place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (error instanceof Fault) throw withFreeSpace(error, place);
    if (!code || !['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EACCES', 'EPERM'].includes(code)) throw error;
    const reason =
      code === 'ENOSPC' || code === 'EDQUOT' ? 'there is no space left on the disk' : (error as Error).message;
    throw new Fault('unavailable', `${what}: ${reason}${path ? ` (${path})` : ''}. Nothing was changed.`, {
      cause: error,
    });
  }
}
