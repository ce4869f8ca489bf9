import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';

/** Overwrites a file that cannot be renamed over. Readers may see a part of both; if it fails, the old content is put back. */
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

/**
 * Whether a file has been overwritten in part: every byte of it is in its place that of the file before or that of the one that was to
 * be. So it is after a kill at any moment, and hardly ever after somebody else's change.
 */
export function isHalfWritten(file: string, before: string, after: string): boolean {
  if (![file, before, after].every((each) => existsSync(each))) return false;
  const [now, old, next] = [file, before, after].map((each) => readFileSync(each)) as [Buffer, Buffer, Buffer];
  if (now.equals(old)) return false;
  if (now.length < Math.min(old.length, next.length) || now.length > Math.max(old.length, next.length)) return false;
  return now.every((byte, i) => byte === old[i] || byte === next[i]);
}

function write(handle: number, content: Uint8Array): void {
  for (let done = 0; done < content.length; ) done += writeSync(handle, content, done, content.length - done, done);
  ftruncateSync(handle, content.length);
  fsyncSync(handle);
}
