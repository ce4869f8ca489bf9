import { createHash } from 'node:crypto';
import { openReal } from '../../core/open-real.ts';

interface Known {
  /** What says that the file is the same as before. */
  readonly mark: string;
  readonly hash: Promise<string>;
}

/** Files whose hashes are remembered. */
const mostKnown = 10_000;

/** The SHA-256 of files that are large and seldom change. */
export class FileHashes {
  /** By path, the longest unused first. */
  readonly #known = new Map<string, Known>();

  async of(path: string): Promise<{ readonly hash: string; readonly size: number }> {
    const file = await openReal(path);
    try {
      const { size, mtimeNs, ino } = await file.stat({ bigint: true });
      const mark = `${size} ${mtimeNs} ${ino}`;
      let known = this.#known.get(path);
      this.#known.delete(path);
      if (known?.mark !== mark) known = { mark, hash: hashOf(path) };
      this.#known.set(path, known);
      if (this.#known.size > mostKnown) this.#known.delete(this.#known.keys().next().value!);
      return { hash: await known.hash, size: Number(size) };
    } catch (error) {
      this.#known.delete(path);
      throw error;
    } finally {
      await file.close();
    }
  }
}

async function hashOf(path: string): Promise<string> {
  const file = await openReal(path);
  const digest = createHash('sha256');
  for await (const chunk of file.createReadStream({ highWaterMark: 1 << 20 })) digest.update(chunk as Buffer);
  return digest.digest('hex');
}
