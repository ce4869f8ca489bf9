import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Fault } from '../../core/errors.ts';
import { SharedSource } from '../../protocols/ssh/sftp/source.ts';
import { temporaryToken } from '../../protocols/ssh/sftp/temporary-names.ts';
import { type Cargo, type CargoRoot, loadCargo } from './cargo.ts';
import { loadClientFiles } from './client-files.ts';
import { type LayoutOptions, TreeArchive, treeLayout } from './tree-layout.ts';

/** Files that are kept open though nobody reads them at the moment. */
const maximumUnused = 64;
const maximumArchives = 8;

/** Looks at files that are to be sent. Those that are found can be read on this machine. */
export interface CargoSource {
  /** All that there is below these. */
  load(roots: readonly CargoRoot[]): Promise<Cargo>;
  /** All that a client sent, which was received into that directory. */
  received(directory: string): Promise<Cargo>;
}

const thisMachine: CargoSource = { load: loadCargo, received: loadClientFiles };

/** Files that one command sends to many nodes: each is looked at, hashed, opened and packed once for all. */
export class LocalFiles {
  readonly #source: CargoSource;
  readonly #cargo = new Map<string, Promise<Cargo>>();
  readonly #hashes = new Map<string, Promise<string>>();
  readonly #archives = new Map<string, { readonly archive: TreeArchive; users: number }>();
  readonly #token = temporaryToken();
  readonly #opened = new Map<string, { readonly source: Promise<SharedSource>; users: number }>();
  /** Those nobody reads, the longest unused first. */
  readonly #unused = new Set<string>();

  constructor(source = thisMachine) {
    this.#source = source;
  }

  /** All that there is to send below these. */
  cargo(roots: readonly CargoRoot[]): Promise<Cargo> {
    const key = JSON.stringify(roots);
    let cargo = this.#cargo.get(key);
    if (!cargo) this.#cargo.set(key, (cargo = this.#source.load(roots)));
    return cargo;
  }

  /** All that a client sent, which was received into that directory. */
  received(directory: string): Promise<Cargo> {
    let cargo = this.#cargo.get(directory);
    if (!cargo) this.#cargo.set(directory, (cargo = this.#source.received(directory)));
    return cargo;
  }

  /** The SHA-256 of a file. */
  hash(path: Buffer): Promise<string> {
    const key = path.toString('latin1');
    let hash = this.#hashes.get(key);
    if (!hash) this.#hashes.set(key, (hash = hashFile(path)));
    return hash;
  }

  /**
   * Works with an archive of these, the same for all nodes that have the same directories already; undefined if too many that differ
   * are in use, as each takes memory.
   */
  async withArchive<T>(options: ArchiveOptions, work: (archive: TreeArchive | undefined) => Promise<T>): Promise<T> {
    const key = layoutKey(options);
    let used = this.#archives.get(key);
    if (!used) {
      if (this.#archives.size === maximumArchives) this.#dropArchive();
      if (this.#archives.size === maximumArchives) return work(undefined);
      used = { archive: new TreeArchive(treeLayout({ ...options, token: this.#token })), users: 0 };
      this.#archives.set(key, used);
    }
    used.users++;
    try {
      return await work(used.archive);
    } finally {
      used.users--;
    }
  }

  /** One that nobody uses. */
  #dropArchive(): void {
    for (const [key, { users }] of this.#archives) {
      if (users > 0) continue;
      this.#archives.delete(key);
      return;
    }
  }

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

type ArchiveOptions = Omit<LayoutOptions, 'token'>;

function layoutKey({ placed, existing }: ArchiveOptions): string {
  const hash = createHash('sha256');
  for (const { item, key } of placed)
    hash.update(`${key}\0${item.mode} ${existing.has(key)}\0`, 'latin1').update(item.from);
  return hash.digest('hex');
}

async function hashFile(path: Buffer): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    throw new Fault('invalid', `${path.toString()} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
  return hash.digest('hex');
}
