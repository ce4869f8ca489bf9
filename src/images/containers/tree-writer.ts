import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { callError, libc } from '../../core/libc.ts';
import { type TarEntry, TarError } from '../../core/tar/header.ts';
import type { TarSink } from '../../core/tar/reader.ts';

/** Sets an extended attribute of a file, of a link's own. */
function setAttribute(path: string, name: string, value: Buffer): void {
  check(libc().lsetxattr(bytesOf(path), bytesOf(name), value, value.length, 0), `setting the attribute ${name}`);
}

type SpecialKind = 'character device' | 'block device' | 'pipe';

const typeBits = { 'character device': 0o020000, 'block device': 0o060000, pipe: 0o010000 } as const;

function makeSpecial(path: string, kind: SpecialKind, major: number, minor: number): void {
  const device = kind === 'pipe' ? 0n : deviceNumber(BigInt(major), BigInt(minor));
  check(libc().mknod(bytesOf(path), typeBits[kind] | 0o600, device), `making a ${kind}`);
}

/** As the C library packs it. */
const deviceNumber = (major: bigint, minor: bigint): bigint =>
  (minor & 0xffn) | ((major & 0xfffn) << 8n) | ((minor & 0xffffff00n) << 12n) | ((major & 0xfffff000n) << 32n);

/** Names in an image are in no known encoding. */
const bytesOf = (text: string): Buffer => Buffer.from(`${text}\0`, 'latin1');

function check(result: number, what: string): void {
  if (result !== 0) throw callError(`${what} failed`);
}

/** Something in the tree that layers make. All of it was made by us, so what is remembered of it is what is there. */
interface TreeNode {
  readonly kind: 'directory' | 'symbolic link' | 'file' | 'other';
  /** The layer that had it last: whiteouts hide only what lower layers have. */
  layer: number;
}

interface TreeDirectory extends TreeNode {
  readonly kind: 'directory';
  readonly children: Map<string, TreeNode>;
  /** Undefined if no layer has it itself, only what is in it. */
  entry: TarEntry | undefined;
}

const isDirectory = (node: TreeNode | undefined): node is TreeDirectory => node?.kind === 'directory';

const newDirectory = (layer: number, entry?: TarEntry): TreeDirectory => ({
  kind: 'directory',
  layer,
  children: new Map(),
  entry,
});

/** What has the path in the tree, without following links. */
function find(root: TreeDirectory, path: string): TreeNode | undefined {
  let node: TreeNode | undefined = root;
  for (const name of path.split('/')) {
    if (!isDirectory(node)) return undefined;
    node = node.children.get(name);
  }
  return node;
}

/** What the kernel takes as one path; the tree may lie some directories deep itself. */
const longest = 3_500;

/**
 * The names on the way from the root of an image to what an archive names. A leading slash is that root; nothing leads out of it,
 * because ".." is refused.
 */
function treePath(path: string): string[] {
  if (path.length > longest) throw new TarError(`it has a name of more than ${longest} bytes`);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw new TarError(`the name ${shown(path)} leads out of its directory`);
  if (path.includes('\0')) throw new TarError(`the name ${shown(path)} holds a zero byte`);
  return names;
}

/** A name as the system's calls take it: text where it is plain, else its bytes. */
const systemPath = (path: string): string | Buffer =>
  // oxlint-disable-next-line no-control-regex
  /^[\x00-\x7f]*$/.test(path) ? path : Buffer.from(path, 'latin1');

/** A name for a sentence: short, and without what a terminal would act on. */
export function shown(path: string): string {
  const text = Buffer.from(path, 'latin1').toString('utf8');
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text);
}

/** What an image may take, so that a small file cannot fill a disk. */
export interface TreeLimits {
  /** Of all files together, holes and what later layers remove included. */
  readonly bytes: number;
  readonly entries: number;
}

/** Bytes of all layers that are headers and padding, or nothing at all. */
const mostBesideFiles = 4 * 2 ** 30;
const whiteout = '.wh.';
const opaque = '.wh..wh..opq';
/** Attributes that say something about the machine the image was made on, or about how a layer is stored. */
const foreignAttributes = ['security.selinux', 'security.ima', 'security.evm', 'trusted.overlay.', 'user.overlay.'];

/**
 * Makes a tree of the layers of an image, in a directory that nobody else writes to. What is in the tree is remembered, so no path is
 * looked at before it is used, and none leads through a link: links are never followed. Directories get their owners, modes and times
 * at the end, when nothing is put into them any more.
 */
export class TreeWriter implements TarSink {
  readonly root: TreeDirectory = newDirectory(0);
  readonly #base: string;
  readonly limits: TreeLimits;
  #layer = 0;
  #bytes = 0;
  #read = 0;
  #entries = 0;
  readonly #unkept = new Set<string>();
  #file: { readonly fd: number; readonly entry: TarEntry } | undefined;

  /** `directory` must exist and be empty. */
  constructor(directory: string, limits: TreeLimits) {
    this.#base = Buffer.from(directory).toString('latin1');
    this.limits = limits;
    chmodSync(directory, 0o700);
  }

  /** Names of extended attributes that the file system does not keep. */
  get unkept(): readonly string[] {
    return [...this.#unkept];
  }

  beginLayer(): void {
    this.#layer++;
  }

  /** Gets the sizes that layers have, decompressed: a small one that becomes a large one would keep a processor busy for hours. */
  countRead(bytes: number): void {
    this.#read += bytes;
    if (this.#read > this.limits.bytes + mostBesideFiles)
      throw new TarError(`with the layers below it, it has more than ${this.limits.bytes} bytes`);
  }

  entry(entry: TarEntry): void {
    if (++this.#entries > this.limits.entries)
      throw new TarError(`it has more than ${this.limits.entries} entries, the most an image may have`);
    const names = treePath(entry.path);
    checkOwner(entry);
    const name = names.pop();
    if (name === undefined) return this.#describeRoot(entry);
    if (names.some((each) => each.startsWith(whiteout)))
      throw new TarError(`the name ${shown(entry.path)} leads through a whiteout`);
    const parent = this.#parent(names, entry);
    const path = `${this.#base}/${[...names, name].join('/')}`;
    if (name.startsWith(whiteout)) return this.#hide(parent, name, path);
    this.#put(parent, name, path, entry);
  }

  data(bytes: Buffer, at: number): void {
    if (!this.#file) return;
    let done = 0;
    while (done < bytes.length) done += writeSync(this.#file.fd, bytes, done, bytes.length - done, at + done);
  }

  end(): void {
    if (!this.#file) return;
    const { fd, entry } = this.#file;
    this.#file = undefined;
    try {
      // A hole at the end has no data.
      if (entry.pieces) ftruncateSync(fd, entry.size);
      fchownSync(fd, entry.uid, entry.gid);
      // After the owner, since changing that takes set-user-ID bits and capabilities away.
      fchmodSync(fd, entry.mode);
      if (entry.attributes.length > 0) this.#setAttributes(this.#pathOf(entry), entry);
      futimesSync(fd, entry.mtime, entry.mtime);
    } finally {
      closeSync(fd);
    }
  }

  /** The tree is complete. */
  finish(): void {
    this.#finish(this.root, this.#base);
  }

  /** Nothing more is coming; what is open is closed. */
  abandon(): void {
    if (this.#file) closeSync(this.#file.fd);
    this.#file = undefined;
  }

  #pathOf = (entry: TarEntry): string => `${this.#base}/${treePath(entry.path).join('/')}`;

  #describeRoot(entry: TarEntry): void {
    if (entry.kind !== 'directory') throw new TarError(`its root is a ${entry.kind}`);
    this.root.entry = entry;
  }

  /** The directory with the path, made if no layer has it. */
  #parent(names: readonly string[], entry: TarEntry): TreeDirectory {
    let directory = this.root;
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      let next = directory.children.get(name);
      if (!isDirectory(next)) {
        if (next?.kind === 'symbolic link')
          throw new TarError(
            `the name ${shown(entry.path)} leads through the symbolic link ${shown(names.slice(0, i + 1).join('/'))}`,
          );
        const path = `${this.#base}/${names.slice(0, i + 1).join('/')}`;
        if (next) unlinkSync(systemPath(path));
        next = this.#makeDirectory(directory, name, path);
      }
      directory = next as TreeDirectory;
      directory.layer = this.#layer;
    }
    return directory;
  }

  #makeDirectory(parent: TreeDirectory, name: string, path: string): TreeDirectory {
    mkdirSync(systemPath(path), 0o700);
    const made = newDirectory(this.#layer);
    parent.children.set(name, made);
    return made;
  }

  #hide(parent: TreeDirectory, name: string, path: string): void {
    if (name === opaque) return this.#hideLower(parent, path.slice(0, -name.length - 1));
    // Notes of a file system of its own, which nobody else needs.
    if (name.startsWith(whiteout + whiteout)) return;
    const hidden = name.slice(whiteout.length);
    if (hidden === '' || hidden === '.' || hidden === '..')
      throw new TarError(`the whiteout ${shown(name)} names nothing that can be hidden`);
    this.#hideNode(parent, hidden, `${path.slice(0, -name.length)}${hidden}`);
  }

  #hideNode(parent: TreeDirectory, name: string, path: string): void {
    const node = parent.children.get(name);
    if (!node) return;
    if (node.layer < this.#layer) this.#remove(parent, name, path);
    // This layer has put something there, or into it: that stays, wherever in the layer the whiteout stands.
    else if (isDirectory(node)) this.#hideLower(node, path);
  }

  #hideLower(directory: TreeDirectory, path: string): void {
    for (const name of directory.children.keys()) this.#hideNode(directory, name, `${path}/${name}`);
  }

  #remove(parent: TreeDirectory, name: string, path: string): void {
    if (isDirectory(parent.children.get(name))) rmSync(systemPath(path), { recursive: true });
    else unlinkSync(systemPath(path));
    parent.children.delete(name);
  }

  #put(parent: TreeDirectory, name: string, path: string, entry: TarEntry): void {
    const old = parent.children.get(name);
    if (entry.kind === 'directory') {
      if (old && !isDirectory(old)) this.#remove(parent, name, path);
      const directory = isDirectory(old) ? old : this.#makeDirectory(parent, name, path);
      directory.entry = entry;
      directory.layer = this.#layer;
      return;
    }
    const target = entry.kind === 'hard link' ? this.#linkTarget(entry) : undefined;
    if (target && target.node === old) {
      old.layer = this.#layer;
      return;
    }
    if (old) this.#remove(parent, name, path);
    if (target) {
      linkSync(systemPath(target.path), systemPath(path));
      parent.children.set(name, { kind: target.node.kind, layer: this.#layer });
      return;
    }
    this.#make(path, entry);
    const kind = entry.kind === 'file' || entry.kind === 'symbolic link' ? entry.kind : 'other';
    parent.children.set(name, { kind, layer: this.#layer });
  }

  /** The other name of a hard link: a path from the root of the image, of this layer or a lower one. */
  #linkTarget(entry: TarEntry): { readonly node: TreeNode; readonly path: string } {
    const path = treePath(entry.link).join('/');
    const node = find(this.root, path);
    if (!node || isDirectory(node))
      throw new TarError(
        `the hard link ${shown(entry.path)} is to ${shown(entry.link)}, which is no file of the image`,
      );
    return { node, path: `${this.#base}/${path}` };
  }

  #make(path: string, entry: TarEntry): void {
    const place = systemPath(path);
    if (entry.kind === 'file') {
      this.#count(entry);
      this.#file = { fd: openSync(place, 'wx', 0o600), entry };
      return;
    }
    if (entry.kind === 'symbolic link') symlinkSync(systemPath(entry.link), place);
    else if (entry.kind !== 'hard link' && entry.kind !== 'directory') {
      makeSpecial(path, entry.kind, entry.major, entry.minor);
    }
    lchownSync(place, entry.uid, entry.gid);
    if (entry.kind !== 'symbolic link') chmodSync(place, entry.mode);
    this.#setAttributes(path, entry);
    lutimesSync(place, entry.mtime, entry.mtime);
  }

  #count({ size }: TarEntry): void {
    this.#bytes += size;
    if (this.#bytes > this.limits.bytes)
      throw new TarError(`its files have more than ${this.limits.bytes} bytes together, the most an image may have`);
  }

  #setAttributes(path: string, { attributes }: TarEntry): void {
    for (const [name, value] of attributes) {
      if (foreignAttributes.some((prefix) => name.startsWith(prefix))) continue;
      try {
        setAttribute(path, name, value);
      } catch (error) {
        // A program without its capabilities would fail later; the caller reports the rest.
        if ((error as NodeJS.ErrnoException).code !== 'ENOTSUP' || name === 'security.capability') throw error;
        this.#unkept.add(name);
      }
    }
  }

  #finish(directory: TreeDirectory, path: string): void {
    for (const [name, node] of directory.children) if (isDirectory(node)) this.#finish(node, `${path}/${name}`);
    const place = systemPath(path);
    const { entry } = directory;
    if (!entry) return chmodSync(place, 0o755);
    lchownSync(place, entry.uid, entry.gid);
    chmodSync(place, entry.mode);
    this.#setAttributes(path, entry);
    utimesSync(place, entry.mtime, entry.mtime);
  }
}

/** The kernel takes the last number as "leave it", so that the file would be ours. */
function checkOwner({ uid, gid, path }: TarEntry): void {
  for (const id of [uid, gid])
    if (id < 0 || id > 0xffff_fffe) throw new TarError(`the owner of ${shown(path)} has the impossible number ${id}`);
}
