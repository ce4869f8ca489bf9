import { blockSize, type IsoFile } from './iso-file.ts';
import { decodeName, isInside, type IsoRecord, readRecord, readVolume, recordsOf, type Volume } from './volume.ts';
import { type RockRidge, readRockRidge } from './rock-ridge.ts';

export interface Extent {
  readonly position: number;
  readonly length: number;
}

export interface MediumFile {
  readonly path: string;
  readonly size: number;
  /** Where its bytes are, in their order. */
  readonly extents: readonly Extent[];
  readonly isExecutable: boolean;
  /** Seconds since 1970. */
  readonly time: number;
}

export interface MediumLink {
  readonly path: string;
  readonly target: string;
}

/** All that is on a medium, checked: safe names, nothing that leads out of it, nothing but files, directories and links. */
export interface MediumContents {
  readonly volume: Volume;
  /** Each after the one it is in. */
  readonly directories: readonly string[];
  /** In the order of their places. */
  readonly files: readonly MediumFile[];
  readonly links: readonly MediumLink[];
}

const mostEntries = 250_000;
const mostDirectoryBlocks = 65_536;
const deepest = 64;
const longestPath = 2_048;

const fileTypes = 0o170000;
const typeNames: Readonly<Record<number, 'file' | 'directory' | 'link'>> = {
  0o100000: 'file',
  0o040000: 'directory',
  0o120000: 'link',
};

export function scanMedium(iso: IsoFile): MediumContents {
  return new Scan(iso, readVolume(iso)).contents();
}

interface Found {
  readonly path: string;
  readonly depth: number;
  readonly block: number;
  readonly size: number;
}

class Scan {
  readonly #iso: IsoFile;
  readonly #volume: Volume;
  readonly #waiting: Found[] = [];
  readonly #paths = new Set<string>();
  /** A block belongs to one directory, so the work ends however directories refer to each other. */
  readonly #blocks = new Set<number>();
  readonly #directories: string[] = [];
  readonly #files: MediumFile[] = [];
  readonly #links: MediumLink[] = [];
  #entries = 0;

  constructor(iso: IsoFile, volume: Volume) {
    this.#iso = iso;
    this.#volume = volume;
  }

  contents(): MediumContents {
    const { block, size } = this.#volume.root;
    this.#waiting.push({ path: '', depth: 0, block, size });
    // Those that are found on the way are appended.
    for (const directory of this.#waiting) this.#directory(directory);
    this.#files.sort((a, b) => (a.extents[0]?.position ?? 0) - (b.extents[0]?.position ?? 0));
    this.#checkTotal();
    return {
      volume: this.#volume,
      directories: this.#directories,
      files: this.#files,
      links: this.#links,
    };
  }

  #directory(directory: Found): void {
    if (directory.depth > deepest) throw this.#iso.broken(`its directories are nested more than ${deepest} deep`);
    const bytes = this.#directoryBytes(directory);
    let begun: { path: string; extents: Extent[] } | undefined;
    for (const record of recordsOf(this.#iso, bytes)) {
      if (isSelfOrParent(record) || record.isAssociated) continue;
      if (++this.#entries > mostEntries) throw this.#iso.broken(`it has more than ${mostEntries} files`);
      const more = this.#rockRidge(record);
      if (more?.isMoved) continue;
      const path = this.#path(directory, record, more);
      const kind = this.#kindOf(record, more, path);
      if (begun && (begun.path !== path || kind !== 'file')) throw this.#iso.broken(`"${begun.path}" has no end`);
      if (kind === 'directory') this.#addDirectory(directory, record, more, path);
      else if (kind === 'link') this.#addLink(path, more?.link ?? []);
      else {
        begun ??= { path, extents: [] };
        if (record.size > 0) begun.extents.push(this.#extent(record, path));
        if (record.continues) continue;
        this.#addFile(begun.path, begun.extents, record, more);
        begun = undefined;
      }
    }
    if (begun) throw this.#iso.broken(`"${begun.path}" has no end`);
  }

  #directoryBytes({ path, block, size }: Found): Buffer {
    const length = Math.ceil(size / blockSize) * blockSize;
    const what = `the directory "/${path}"`;
    this.#iso.checkRange(block * blockSize, length, what);
    if (this.#blocks.size + length / blockSize > mostDirectoryBlocks)
      throw this.#iso.broken(`its directories are larger than ${(mostDirectoryBlocks * blockSize) / 1_048_576} MiB`);
    for (let each = block; each < block + length / blockSize; each++) {
      if (this.#blocks.has(each)) throw this.#iso.broken(`${what} is inside itself or shares its place with another`);
      this.#blocks.add(each);
    }
    return this.#iso.blocks(block, length, what);
  }

  #rockRidge({ systemUse }: IsoRecord): RockRidge | undefined {
    const { names } = this.#volume;
    return names.kind === 'rock-ridge' ? readRockRidge(this.#iso, systemUse.subarray(names.skip)) : undefined;
  }

  #path(directory: Found, record: IsoRecord, more: RockRidge | undefined): string {
    const name = decodeName(this.#iso, this.#volume.names, record, more?.name);
    const path = directory.path === '' ? name : `${directory.path}/${name}`;
    if (path.length > longestPath) throw this.#iso.broken(`a path of it is longer than ${longestPath} characters`);
    return path;
  }

  #kindOf(record: IsoRecord, more: RockRidge | undefined, path: string): 'file' | 'directory' | 'link' {
    if (more?.childBlock !== undefined) return 'directory';
    if (more?.mode === undefined) return record.isDirectory ? 'directory' : 'file';
    const kind = typeNames[more.mode & fileTypes];
    if (!kind) throw this.#iso.broken(`"${path}" is a device, a pipe or a socket, which no install medium has`);
    if ((kind === 'directory') !== record.isDirectory) throw this.#iso.broken(`"${path}" is of two kinds`);
    if (more.isEncoded) throw this.#iso.broken(`"${path}" is stored compressed or with holes, which is not read`);
    return kind;
  }

  #claim(path: string): void {
    if (this.#paths.has(path)) throw this.#iso.broken(`it has "${path}" twice`);
    this.#paths.add(path);
  }

  #addDirectory({ depth }: Found, record: IsoRecord, more: RockRidge | undefined, path: string): void {
    this.#claim(path);
    if (record.continues) throw this.#iso.broken(`the directory "${path}" is in pieces`);
    this.#directories.push(path);
    const block = more?.childBlock ?? record.block;
    this.#waiting.push({ path, depth: depth + 1, block, size: this.#directorySize(block, record, more) });
  }

  /** A directory that was moved has its size itself. */
  #directorySize(block: number, { size }: IsoRecord, more: RockRidge | undefined): number {
    if (more?.childBlock === undefined) return size;
    return readRecord(this.#iso, this.#iso.blocks(block, blockSize, 'a directory'), 0).size;
  }

  #addLink(path: string, parts: readonly string[]): void {
    this.#claim(path);
    if (!isInside(path, parts))
      throw this.#iso.broken(
        `the link "${path}" leads to ${shown(targetOf(parts))}, which is not surely inside the medium`,
      );
    this.#links.push({ path, target: targetOf(parts) });
  }

  #extent({ block, size }: IsoRecord, path: string): Extent {
    this.#iso.checkRange(block * blockSize, size, `"${path}"`);
    return { position: block * blockSize, length: size };
  }

  #addFile(path: string, extents: readonly Extent[], { recorded }: IsoRecord, more: RockRidge | undefined): void {
    this.#claim(path);
    const size = extents.reduce((sum, { length }) => sum + length, 0);
    const isExecutable = ((more?.mode ?? 0) & 0o111) !== 0;
    this.#files.push({ path, size, extents, isExecutable, time: recorded });
  }

  /** Names may share a file; but files that overlap otherwise could make a small medium fill any disk. */
  #checkTotal(): void {
    const sizes = new Map(this.#files.map((file) => [placeKey(file), file.size]));
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    if (total > this.#iso.size) throw this.#iso.broken('its files add up to more than it holds');
  }
}

/** Files of the same place have the same content. */
export const placeKey = ({ extents }: MediumFile): string =>
  extents.map(({ position, length }) => `${position}+${length}`).join();

/** What is refused may hold anything. */
const shown = (text: string): string => JSON.stringify(text.slice(0, 200));

const targetOf = (parts: readonly string[]): string => parts.join('/').replace(/^\/\//, '/');

const isSelfOrParent = ({ name }: IsoRecord): boolean => name.length === 1 && name[0]! <= 1;
