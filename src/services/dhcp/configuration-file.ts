import { chmod, chown, copyFile, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { syncDirectory } from '../../core/files.ts';
import type { KeaFiles } from './kea-files.ts';

export async function readConfiguration(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes a candidate beside the file, so that Kea can look at it before it takes the file's place. It may hold a password, and Kea may
 * run as a user of its own: the candidate belongs to the group of that user, or to whom the file belongs, or to the group of the
 * directory.
 */
export async function writeCandidate({ configuration: file, reader }: KeaFiles, text: string): Promise<string> {
  const candidate = `${file}.new`;
  try {
    await removeFile(candidate);
    const handle = await open(candidate, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const old = reader ? undefined : await stat(file).catch(() => undefined);
    const owner = old ?? { uid: process.getuid!(), gid: reader?.gid ?? (await stat(dirname(file))).gid };
    if (owner.uid !== process.getuid!() || owner.gid !== process.getgid!())
      await chown(candidate, owner.uid, owner.gid);
    await chmod(candidate, old ? old.mode & 0o660 : 0o640);
  } catch (error) {
    await removeFile(candidate).catch(() => undefined);
    throw new Fault('unavailable', `${file} cannot be written: ${(error as Error).message}.`, { cause: error });
  }
  return candidate;
}

export async function putInPlace(candidate: string, file: string): Promise<void> {
  await rename(candidate, file);
  syncDirectory(dirname(file));
}

export const keepAside = (file: string): Promise<void> => copyFile(file, `${file}.before-muster`);

export const removeFile = (file: string): Promise<void> => rm(file, { force: true });
