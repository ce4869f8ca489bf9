import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskFull, isDiskFull, isNearlyFull } from '../../core/disk-full.ts';
import { Fault } from '../../core/errors.ts';
import { type TarEntry, TarError } from '../../core/tar/header.ts';
import { TarReader } from '../../core/tar/reader.ts';
import { type Cargo, type CargoItem, maximumItems } from './cargo.ts';

/** Files that a client sent, for as long as the command that it sent them for is at work. */
export interface ClientFiles {
  readonly directory: string;
  /** Of what lies at the top of the archive. */
  readonly names: readonly string[];
  remove(): Promise<void>;
}

/** Hands over chunks as long as `take` returns true; the next call goes on. Returns whether that was all. */
interface Chunks {
  read(take: (chunk: Buffer) => boolean): Promise<boolean>;
}

const itemsFile = 'items.json';
/** Bytes that are read before they are written. */
const readAtOnce = 1 << 20;

/**
 * Receives archives of clients, whose files are then sent to nodes. No name of an archive becomes a path on this machine: contents lie in
 * files with numbers for names, and a list beside them says what they are.
 */
export class ClientFileStore {
  readonly #directory: string;
  readonly #limit: number;
  /** Bytes that users have here at the moment. */
  readonly #held = new Map<string, number>();
  #made = 0;

  /** `limit`: bytes that a user may have here at a time; all together may have twice as many. */
  constructor(directory: string, limit: number) {
    this.#limit = limit;
    // What a killed server left; this process alone has the data directory.
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { mode: 0o700 });
    // Files are sent by paths without links.
    this.#directory = realpathSync(directory);
  }

  get limit(): number {
    return this.#limit;
  }

  async receive(user: string, chunks: Chunks): Promise<ClientFiles> {
    const directory = join(this.#directory, String(++this.#made));
    await mkdir(directory, { mode: 0o700 });
    let held = 0;
    const hold = (bytes: number): void => {
      this.#hold(user, bytes);
      held += bytes;
    };
    const remove = async (): Promise<void> => {
      this.#release(user, held);
      held = 0;
      await rm(directory, { recursive: true, force: true });
    };
    try {
      const names = await unpack(chunks, directory, hold, () => this.#checkSpace());
      return { directory, names, remove };
    } catch (error) {
      await remove();
      if (error instanceof TarError)
        throw new Fault('malformed', `The body is no tar archive that can be used: ${error.message}.`);
      if (isDiskFull(error)) throw new DiskFull('The files could not be received', this.#directory, error);
      throw error;
    }
  }

  #hold(user: string, bytes: number): void {
    const own = (this.#held.get(user) ?? 0) + bytes;
    const all = this.#held.values().reduce((sum, each) => sum + each, bytes);
    if (own > this.#limit)
      throw new Fault(
        'too-large',
        `These files, and those that user "${user}" is copying already, are more than ${this.#limit} bytes. Copy less at a time, put the files on the management node, or raise the setting remote.clientBytes.`,
      );
    if (all > 2 * this.#limit)
      throw new Fault('unavailable', 'Other users are copying files that take up all the space; try again later.', {
        retryAfter: 30,
      });
    this.#held.set(user, own);
  }

  #release(user: string, bytes: number): void {
    const left = (this.#held.get(user) ?? 0) - bytes;
    if (left > 0) this.#held.set(user, left);
    else this.#held.delete(user);
  }

  /** Files of clients never take the space that the database needs. */
  async #checkSpace(): Promise<void> {
    const { bavail, bsize, blocks } = await statfs(this.#directory);
    if (isNearlyFull(bavail * bsize, blocks * bsize))
      throw new DiskFull('The files could not be received', this.#directory, undefined);
  }
}

async function unpack(
  chunks: Chunks,
  directory: string,
  hold: (bytes: number) => void,
  checkSpace: () => Promise<void>,
): Promise<string[]> {
  const list = new ItemList(directory, hold);
  const writer = new Writer();
  const reader = new TarReader({
    entry: (entry) => writer.begin(list.add(entry)),
    data: (bytes, at) => writer.add(bytes, at),
    end: () => writer.end(),
  });
  const pieces: Buffer[] = [];
  try {
    for (let isAll = false; !isAll; ) {
      await checkSpace();
      let size = 0;
      isAll = await chunks.read((chunk) => {
        pieces.push(chunk);
        size += chunk.length;
        return size < readAtOnce;
      });
      for (const piece of pieces.splice(0)) reader.push(piece);
      await writer.flush();
    }
    reader.finish();
    await writer.flush();
  } finally {
    await writer.close();
  }
  if (list.names.length === 0) throw new TarError('it is empty');
  await writeFile(join(directory, itemsFile), JSON.stringify(list.items), { mode: 0o600 });
  return list.names;
}

/** As `CargoItem`, with names whose characters are bytes. */
interface StoredItem extends Omit<CargoItem, 'from' | 'name' | 'destination'> {
  readonly from: string;
  readonly name: string;
  readonly destination: string | undefined;
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** What was received into a directory. */
export async function loadClientFiles(directory: string): Promise<Cargo> {
  const stored = JSON.parse(await readFile(join(directory, itemsFile), 'utf8')) as StoredItem[];
  const items = stored.map(
    (item): CargoItem => ({
      ...item,
      from: Buffer.from(item.from),
      name: bytesOf(item.name),
      destination: item.destination === undefined ? undefined : bytesOf(item.destination),
    }),
  );
  return { items, size: items.reduce((sum, { kind, size }) => (kind === 'file' ? sum + size : sum), 0) };
}

/**
 * Refuses links that lead elsewhere than further down, from a caller whose rules limit where files may go: through a link that is on the
 * node already, a second copy would put files outside of the target.
 */
export function checkLinksLeadDown({ items }: Cargo): void {
  for (const { name, destination } of items) {
    const link = destination?.toString('latin1') ?? '';
    if (!link.startsWith('/') && !link.split('/').includes('..')) continue;
    throw new Fault(
      'denied',
      `${JSON.stringify(name.toString())} is a link to ${shown(link)}. Your policy rules for xdcp have parameters, so a link may lead only to what lies below the directory of the link. Send the file itself, or have somebody with full rights send the link.`,
    );
  }
}

const kinds = { file: 'file', directory: 'directory', 'symbolic link': 'link', 'hard link': 'file' } as const;
const longestPath = 4_096;

/** What an archive has, as far as nodes may get it: nothing leads out of the directory that it is put into. */
class ItemList {
  readonly items: StoredItem[] = [];
  readonly names: string[] = [];
  readonly #known = new Map<string, StoredItem>();
  readonly #directory: string;
  readonly #hold: (bytes: number) => void;

  constructor(directory: string, hold: (bytes: number) => void) {
    this.#directory = directory;
    this.#hold = hold;
  }

  /** The file that its content goes to, if it has any. */
  add(entry: TarEntry): { readonly path: string; readonly size: number } | undefined {
    const kind = Object.hasOwn(kinds, entry.kind) ? kinds[entry.kind as keyof typeof kinds] : undefined;
    const name = plainName(entry.path);
    if (kind === undefined) throw new TarError(`${shown(name)} is a ${entry.kind}, which cannot be sent to nodes`);
    if (this.items.length === maximumItems) throw new TarError(`it has more than ${maximumItems} files`);
    if (this.#known.has(name)) throw new TarError(`it has ${shown(name)} twice`);
    const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')));
    if (parent === '') this.names.push(bytesOf(name).toString());
    else if (this.#known.get(parent)?.kind !== 'directory')
      throw new TarError(`it has ${shown(name)} without the directory that it is in`);
    const other = entry.kind === 'hard link' ? this.#known.get(plainName(entry.link)) : undefined;
    if (entry.kind === 'hard link' && other?.kind !== 'file')
      throw new TarError(`${shown(name)} is a second name of a file that it does not have`);
    const size = kind === 'file' ? (other?.size ?? entry.size) : 0;
    this.#hold(size + bytesPerItem);
    const modified = Math.max(0, Math.floor(entry.mtime));
    const item: StoredItem = {
      kind,
      from: other?.from ?? join(this.#directory, String(this.items.length)),
      name,
      mode: entry.mode,
      accessed: modified,
      modified,
      destination: kind === 'link' ? entry.link : undefined,
      size,
      uid: entry.uid,
      gid: entry.gid,
    };
    this.items.push(item);
    this.#known.set(name, item);
    return kind === 'file' && !other ? { path: item.from, size } : undefined;
  }
}

/** What an entry takes up beside its content, about. */
const bytesPerItem = 1_024;

function plainName(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const isSafe = !path.startsWith('/') && !parts.includes('..') && !path.includes('\0');
  if (parts.length === 0 || !isSafe || path.length > longestPath)
    throw new TarError(`it has an entry ${shown(path)}; names must be relative and lead nowhere else`);
  return parts.join('/');
}

const shown = (name: string): string => JSON.stringify(bytesOf(name.slice(0, 200)).toString());

/** Writes contents in the order in which they come. */
class Writer {
  readonly #steps: (() => Promise<unknown>)[] = [];
  #file: FileHandle | undefined;
  #takes = false;

  begin(to: { readonly path: string; readonly size: number } | undefined): void {
    this.#takes = to !== undefined;
    if (!to) return;
    this.#steps.push(async () => {
      this.#file = await open(to.path, 'wx', 0o600);
      // Holes stay holes, and what ends with one has its size.
      await this.#file.truncate(to.size);
    });
  }

  /** The bytes are lent until they are written by `flush`, which follows every piece that was read. */
  add(bytes: Buffer, at: number): void {
    if (this.#takes) this.#steps.push(() => this.#file!.write(bytes, 0, bytes.length, at));
  }

  end(): void {
    if (this.#takes) this.#steps.push(() => this.close());
    this.#takes = false;
  }

  async flush(): Promise<void> {
    for (const step of this.#steps.splice(0)) await step();
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}
