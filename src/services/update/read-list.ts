import { Fault } from '../../core/errors.ts';
import { openReal } from '../../core/open-real.ts';
import type { Sources } from '../remote/sources.ts';
import { reading } from './telling.ts';

/** Bytes of a list; whoever names an image of a disk instead shall not fill the memory with it. */
const longest = 4 * 1024 * 1024;

/** The text of a list of files or packages. */
export function readList(sources: Sources, path: string): Promise<string> {
  return readRealText(sources.admit(path), path);
}

/** The same of a list whose path was judged before. */
export const readRealText = (real: string, path: string): Promise<string> => reading(path, readText(real, path));

async function readText(real: string, path: string): Promise<string> {
  const file = await openReal(real);
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > longest)
      throw new Fault('invalid', `${path} cannot be read: it is not a file of at most ${longest} bytes.`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
