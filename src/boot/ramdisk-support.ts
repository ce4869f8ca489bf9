import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

/** Parts of an initial RAM disk that those of an older muster, or of others, do not have: they would leave out what they do. */
type RamdiskPart = 'overlay' | 'layout';

/** By part and checksum: to look takes a good part of a second, and nodes boot in thousands. */
const known = new Map<string, Promise<boolean>>();
const mostKnown = 1_000;

/** Whether the initial RAM disk at the path, with this checksum, has a part. */
export function ramdiskHas(part: RamdiskPart, path: string, sha256: string): Promise<boolean> {
  const key = `${part} ${sha256}`;
  let found = known.get(key);
  if (found) return found;
  if (known.size >= mostKnown) known.clear();
  found = hasMark(path, Buffer.from(`lib/muster/${part}`));
  known.set(key, found);
  found.catch(() => known.delete(key));
  return found;
}

async function hasMark(path: string, mark: Buffer): Promise<boolean> {
  let isThere = false;
  const search = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    let end = Buffer.alloc(0);
    for await (const chunk of chunks) {
      const bytes = Buffer.concat([end, chunk]);
      if (bytes.includes(mark)) {
        isThere = true;
        return;
      }
      end = bytes.subarray(Math.max(0, bytes.length - mark.length));
    }
  };
  try {
    await pipeline(createReadStream(path), createGunzip(), search);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // What is compressed otherwise, or found before its end.
    if (!isThere && !code.startsWith('Z_') && code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
  return isThere;
}
