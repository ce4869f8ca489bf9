import { Fault, type FaultData, orFault } from '../../core/errors.ts';
import { openReal } from '../../core/open-real.ts';
import type { Sources } from '../remote/sources.ts';
import { reading } from './telling.ts';

/** What was looked for, each once, or why it was not found: as plain data that many nodes share. */
export class Findings<T> {
  readonly all: Record<string, T | FaultData> = {};
  readonly #looking = new Map<string, Promise<void>>();

  /** Resolves when it is among them. */
  find(key: string, look: () => Promise<T>): Promise<void> {
    let looking = this.#looking.get(key);
    if (!looking) this.#looking.set(key, (looking = this.#look(key, look)));
    return looking;
  }

  async #look(key: string, look: () => Promise<T>): Promise<void> {
    this.all[key] = await orFault(look());
  }
}

/** Bytes of a list; whoever names an image of a disk instead shall not fill the memory with it. */
const longest = 4 * 1024 * 1024;

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
