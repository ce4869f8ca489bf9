import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { join, posix } from 'node:path';
import { type TarEntry, TarError } from '../../core/tar/header.ts';
import { TarReader } from '../../core/tar/reader.ts';
import { type CheckedName, checkFree, serverFile, type ServerFiles } from '../from-server.ts';

const base64Digits = 4;
/** What belongs to the owner here must not lend the owner's rights to others. */
const plainRights = 0o777;

/**
 * A directory that a node sends as an archive in base64, piece by piece. It is made beside its place and takes it when it is complete.
 * Nodes are not trusted: nothing is written outside of it, or through a link.
 */
export class PulledTree {
  /** What was left out, with the reason. */
  readonly left: string[] = [];
  readonly #files: ServerFiles;
  readonly #node: CheckedName;
  readonly #top: string;
  readonly #made: string;
  readonly #reader: TarReader;
  /** Paths in it that this process made: directories with what they get in the end, files. */
  readonly #directories = new Map<string, TarEntry>();
  readonly #plain = new Set<string>();
  #text = '';
  #file: number | undefined;
  #entry: TarEntry | undefined;

  /** `top` is the name that the directory has on the node. */
  constructor(files: ServerFiles, node: CheckedName, top: string) {
    checkFree(files, node, 'directory');
    this.#files = files;
    this.#node = node;
    this.#top = Buffer.from(top).toString('latin1');
    this.#made = mkdtempSync(join(files.directory, `.${node}.muster-`));
    this.#reader = new TarReader({
      entry: (entry) => this.#begin(entry),
      data: (bytes, at) => this.#write(bytes, at),
      end: () => this.#end(),
    });
  }

  add(text: string): void {
    const all = this.#text + text.replaceAll(/\s+/g, '');
    const whole = all.length - (all.length % base64Digits);
    this.#text = all.slice(whole);
    this.#reader.push(Buffer.from(all.slice(0, whole), 'base64'));
  }

  /** Everything has come. */
  finish(): void {
    this.#reader.finish();
    if (this.#text !== '' || !this.#directories.has('')) throw new TarError('it is not complete');
    const deepestFirst = [...this.#directories].sort(([a], [b]) => b.length - a.length);
    for (const [path, entry] of deepestFirst) if (path !== '') this.#settle(this.#path(path), entry);
    const place = Buffer.from(serverFile(this.#files, this.#node));
    this.#takePlace(place);
    // Not before: a directory that its owner may not change cannot be moved either.
    this.#settle(place, this.#directories.get('')!);
    this.left.push(...this.drop());
  }

  /** Removes what has come of it, or what it has replaced; says what could not be removed. */
  drop(): string[] {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    return [this.#made, this.#old].flatMap(removal);
  }

  /** The old copy goes only when the new one is in its place. */
  #takePlace(place: Buffer): void {
    checkFree(this.#files, this.#node, 'directory');
    const replaces = existsSync(place);
    if (replaces) renameSync(place, this.#old);
    try {
      renameSync(this.#path(''), place);
    } catch (error) {
      if (replaces) renameSync(this.#old, place);
      throw error;
    }
  }

  /** In the same directory as before, so that it can be moved whatever its mode is. */
  get #old(): string {
    return `${this.#made}.old`;
  }

  #begin(entry: TarEntry): void {
    this.#entry = entry;
    const path = this.#placeOf(entry.path);
    const isNew = !this.#directories.has(path) && !this.#plain.has(path);
    const parent = path.includes('/') ? posix.dirname(path) : '';
    if (!isNew || (path !== '' && !this.#directories.has(parent)))
      throw new TarError(`it has ${shown(entry.path)} twice, or without its directory`);
    const at = this.#path(path);
    if (entry.kind === 'directory') {
      mkdirSync(at, 0o700);
      this.#directories.set(path, entry);
      return;
    }
    if (path === '') throw new TarError('it is no directory');
    if (entry.kind === 'file') this.#file = openSync(at, 'wx', 0o600);
    else if (entry.kind === 'symbolic link' && this.#staysInside(parent, entry.link))
      symlinkSync(Buffer.from(entry.link, 'latin1'), at);
    else if (entry.kind === 'hard link' && this.#plain.has(this.#placeOf(entry.link)))
      copyFileSync(this.#path(this.#placeOf(entry.link)), at);
    else {
      const why = entry.kind === 'symbolic link' ? 'a link that leads out of the directory' : `a ${entry.kind}`;
      this.left.push(`${shown(entry.path)} was left out: it is ${why}.`);
      return;
    }
    if (entry.kind !== 'symbolic link') this.#plain.add(path);
  }

  #write(bytes: Buffer, at: number): void {
    for (let done = 0; this.#file !== undefined && done < bytes.length; )
      done += writeSync(this.#file, bytes, done, bytes.length - done, at + done);
  }

  #end(): void {
    if (this.#file === undefined) return;
    const entry = this.#entry!;
    ftruncateSync(this.#file, entry.size);
    closeSync(this.#file);
    this.#file = undefined;
    this.#settle(this.#path(this.#placeOf(entry.path)), entry);
  }

  #settle(at: Buffer, { mode, mtime }: TarEntry): void {
    chmodSync(at, mode & plainRights);
    const time = Math.max(0, mtime);
    utimesSync(at, time, time);
  }

  /** The path of an entry below the directory; of the directory itself the empty text. */
  #placeOf(path: string): string {
    const parts = path.split('/').filter((part) => part !== '' && part !== '.');
    if (path.startsWith('/') || parts.includes('..') || path.includes('\0') || parts.shift() !== this.#top)
      throw new TarError(`it has ${shown(path)}, which is not in the directory`);
    return parts.join('/');
  }

  #path(path: string): Buffer {
    return Buffer.concat([Buffer.from(`${this.#made}/tree`), Buffer.from(path === '' ? '' : `/${path}`, 'latin1')]);
  }

  #staysInside(parent: string, link: string): boolean {
    if (link === '' || link.startsWith('/') || link.includes('\0')) return false;
    const parts = link.split('/');
    const first = parts.findIndex((part) => part !== '' && part !== '.' && part !== '..');
    // Behind the name of another link ".." would lead where that link leads.
    if (first !== -1 && parts.indexOf('..', first) !== -1) return false;
    const end = posix.normalize(posix.join(parent, link));
    return end !== '..' && !end.startsWith('../');
  }
}

const shown = (path: string): string => JSON.stringify(Buffer.from(path, 'latin1').toString());

/** Removes a directory of ours, whatever the modes in it are. */
function removal(directory: string): string[] {
  try {
    if (existsSync(directory)) openUp(Buffer.from(directory));
    rmSync(directory, { recursive: true, force: true });
    return [];
  } catch (error) {
    return [`${directory} could not be removed (${(error as Error).message}). Remove it yourself.`];
  }
}

function openUp(directory: Buffer): void {
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true, encoding: 'buffer' }))
    if (entry.isDirectory()) openUp(Buffer.concat([directory, Buffer.from('/'), entry.name]));
}
