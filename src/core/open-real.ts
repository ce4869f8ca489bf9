import { constants, closeSync, openSync, readlinkSync } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';

// Without O_NONBLOCK, opening a pipe would wait for somebody who writes to it.
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a path that was resolved and judged before; it is an error if it, or a directory on the way, has become a link since. */
export async function openReal(path: string | Buffer): Promise<FileHandle> {
  const file = await open(path, flags);
  try {
    checkPath(file.fd, path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** As openReal, at once. */
export function openRealSync(path: string): number {
  const fd = openSync(path, flags);
  try {
    checkPath(fd, path);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The names in a directory whose path was resolved before. */
export async function readRealDirectory(path: Buffer): Promise<Buffer[]> {
  const directory = await openReal(path);
  try {
    return await readdir(descriptorPath(directory.fd), { encoding: 'buffer' });
  } finally {
    await directory.close();
  }
}

const descriptorPath = (fd: number): string => `/proc/self/fd/${fd}`;

function checkPath(fd: number, path: string | Buffer): void {
  const opened = readlinkSync(descriptorPath(fd), { encoding: 'buffer' });
  if (!opened.equals(Buffer.from(path))) throw new Error('it was moved or replaced just now');
}
