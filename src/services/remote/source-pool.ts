import { SharedSource } from '../../protocols/ssh/sftp/source.ts';

/** Files that are kept open though nobody reads them at the moment. */
const maximumUnused = 64;

interface Opened {
  readonly source: Promise<SharedSource>;
  users: number;
}

/** Files that many nodes get at about the same time: each is open once for all, and a tree of thousands does not keep all open. */
export class SourcePool {
  readonly #opened = new Map<string, Opened>();
  /** Those nobody reads, the longest unused first. */
  readonly #unused = new Set<string>();

  async use<T>(path: Buffer, work: (source: SharedSource) => Promise<T>): Promise<T> {
    // A name need not be UTF-8; as latin1 every byte is a character.
    const key = path.toString('latin1');
    const opened = this.#opened.get(key) ?? { source: SharedSource.open(path), users: 0 };
    this.#opened.set(key, opened);
    this.#unused.delete(key);
    opened.users++;
    try {
      return await work(await opened.source);
    } finally {
      opened.users--;
      if (opened.users === 0) this.#unused.add(key);
      if (this.#unused.size > maximumUnused) await this.#close(this.#unused.values().next().value!);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.keys()].map((key) => this.#close(key)));
  }

  async #close(key: string): Promise<void> {
    const opened = this.#opened.get(key);
    this.#opened.delete(key);
    this.#unused.delete(key);
    await opened?.source.then(
      (source) => source.close(),
      () => undefined,
    );
  }
}
