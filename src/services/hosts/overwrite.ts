import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * Writes a file's content over what it holds. Readers may see a part of both; if it fails, the old content is put back. Only for
 * files that cannot be renamed over.
 */
export function overwriteFile(file: string, content: Uint8Array): void {
  const before = readFileSync(file);
  const handle = openSync(file, 'r+');
  try {
    try {
      write(handle, content);
    } catch (error) {
      write(handle, before);
      throw error;
    }
  } finally {
    closeSync(handle);
  }
}

function write(handle: number, content: Uint8Array): void {
  for (let done = 0; done < content.length; ) done += writeSync(handle, content, done, content.length - done, done);
  ftruncateSync(handle, content.length);
  fsyncSync(handle);
}
