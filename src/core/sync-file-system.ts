import { closeSync, openSync } from 'node:fs';
import { libc } from './libc.ts';

/** All that was written to the file system of a directory survives a power cut, however many files it is. Nobody else waits meanwhile. */
export async function syncFileSystem(directory: string): Promise<void> {
  const handle = openSync(directory, 'r');
  try {
    const result = await new Promise<number>((resolve, reject) =>
      libc().syncfs.async(handle, (error, value) => (error ? reject(error) : resolve(value))),
    );
    if (result !== 0)
      throw Object.assign(new Error(`the file system of ${directory} could not be written`), { code: 'EIO' });
  } finally {
    closeSync(handle);
  }
}

const writing = 2;

/** The kernel begins to write a file to the disk, so that a sync has less to wait for. Not every file system can; then the sync does it all. */
export const beginWriting = (fd: number): void => void libc().sync_file_range(fd, 0, 0, writing);

const writeEvery = 500;

/** While another process makes a file, what is there of it goes to the disk; the function that is returned ends this. */
export function writeAlong(file: string): () => void {
  const timer = setInterval(() => {
    try {
      const handle = openSync(file, 'r');
      beginWriting(handle);
      closeSync(handle);
    } catch (error) {
      // It is not there yet, or no more.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }, writeEvery);
  return () => clearInterval(timer);
}
