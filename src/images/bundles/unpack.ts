import { createHash, type Hash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { Fault } from '../../core/errors.ts';
import { openReal } from '../../core/open-real.ts';
import { type TarEntry, TarError } from '../../core/tar/header.ts';
import { TarReader, type TarSink } from '../../core/tar/reader.ts';
import type { Work } from '../../work/index.ts';
import { type Bundle, bundleFile, longestBundleFile, mostMembers, parseBundle } from './bundle.ts';

const longest = 1024 * 1024;
const deepest = 8;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const token = /<([/]?)([A-Za-z_][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*([/]?)>/y;
const attribute = /([\w.:-]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/g;

/**
 * The values at the top of the reference system's manifest.xml, by name. It writes them as elements or as attributes. What lies deeper is
 * left out; documents with declarations of their own are refused.
 */
function parseReferenceManifest(text: string, what: string): Record<string, string> {
  const wrong = (reason: string): Fault => new Fault('invalid', `${what}: manifest.xml ${reason}.`);
  if (text.length > longest) throw wrong(`has more than ${longest} characters`);
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  const open: string[] = [];
  let content = '';
  let at = 0;
  while (at < text.length) {
    if (text.startsWith('<?', at) || text.startsWith('<!--', at)) {
      const end = text.startsWith('<?', at) ? '?>' : '-->';
      const found = text.indexOf(end, at);
      if (found < 0) throw wrong('is cut off');
      at = found + end.length;
    } else if (text[at] === '<') {
      token.lastIndex = at;
      const found = token.exec(text);
      if (!found) throw wrong('is not plain XML');
      const [whole, closing, name = '', attributes = '', single] = found;
      at += whole.length;
      if (closing) {
        if (open.pop() !== name) throw wrong(`has a </${name}> that nothing opened`);
        if (open.length === 1 && !(name in values) && content.trim() !== '')
          values[name] = decoded(content.trim(), wrong);
      } else {
        if (open.length === 0)
          for (const [, key, double, simple] of attributes.matchAll(attribute))
            values[key!] = decoded(double ?? simple ?? '', wrong);
        if (!single) open.push(name);
        if (open.length > deepest) throw wrong('is nested too deep');
      }
      content = '';
    } else {
      const end = text.indexOf('<', at);
      content = text.slice(at, end < 0 ? text.length : end);
      at += content.length;
    }
  }
  if (open.length > 0) throw wrong('is cut off');
  return { ...values };
}

function decoded(text: string, wrong: (reason: string) => Fault): string {
  return text.replaceAll(/&([^;&]*);?/g, (whole, name: string) => {
    const code = /^#x([0-9a-f]{1,6})$/i.exec(name)?.[1];
    const decimal = /^#(\d{1,7})$/.exec(name)?.[1];
    const number =
      code === undefined ? (decimal === undefined ? undefined : Number(decimal)) : Number.parseInt(code, 16);
    const character =
      number === undefined ? entities[name] : number <= 0x10ffff ? String.fromCodePoint(number) : undefined;
    if (character === undefined || !whole.endsWith(';')) throw wrong(`has the unknown entity ${whole}`);
    return character;
  });
}

/** A file that was taken out of a bundle. */
export interface Unpacked {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
}

export interface Contents {
  /** By their names in the archive. */
  readonly files: ReadonlyMap<string, Unpacked>;
  readonly bundle?: Bundle;
  /** The manifest of a bundle that the reference system made. */
  readonly reference?: Readonly<Record<string, string>>;
}

const referenceFile = 'manifest.xml';
/** Bytes of all files together: what no image has. */
const mostBytes = 64 * 1024 ** 3;
/** Headers and padding, or nothing at all: a small file that becomes a large one keeps a processor busy for hours. */
const mostBesideFiles = 1024 ** 3;

/** Unpacks a bundle into an empty directory. It comes from elsewhere: nothing in it decides where anything is written. */
export async function unpackBundle(file: string, into: string, task: Work): Promise<Contents> {
  const members = new BundleMembers(file, into);
  const reader = new TarReader(members);
  let length = 0;
  try {
    for await (const chunk of unpackedBytes(file)) {
      task.signal.throwIfAborted();
      length += chunk.length;
      if (length > mostBytes + mostBesideFiles) throw new TarError(`it has more than ${mostBytes} bytes`);
      reader.push(chunk);
    }
    reader.finish();
  } catch (error) {
    if (!(error instanceof TarError)) throw error;
    throw new Fault('invalid', `${file} is not a tar archive, or it is damaged or cut off: ${error.message}.`);
  } finally {
    members.close();
  }
  return members.contents();
}

/** Takes the members of a bundle as they come; this process does nothing else. */
class BundleMembers implements TarSink {
  readonly #file: string;
  readonly #into: string;
  readonly #files = new Map<string, Unpacked>();
  #bundle: Bundle | undefined;
  #reference: Record<string, string> | undefined;
  #bytes = 0;
  #count = 0;
  #member: Member | undefined;

  constructor(file: string, into: string) {
    this.#file = file;
    this.#into = into;
  }

  entry({ kind, path, size, pieces }: TarEntry): void {
    const name = this.#checkedName(Buffer.from(path, 'latin1').toString());
    if (++this.#count > mostMembers) throw this.#wrong(` has more than ${mostMembers} members.`);
    if (name === '' || kind === 'directory') return;
    if (kind !== 'file' || pieces)
      throw this.#wrong(
        `: ${JSON.stringify(name)} is a link or a device, or has holes; bundles hold whole files only.`,
      );
    if (this.#files.has(name)) throw this.#wrong(` has ${name} twice.`);
    if (this.#isText(name)) {
      if (size > longestBundleFile) throw this.#wrong(`: ${name} has more than ${longestBundleFile} bytes.`);
      this.#member = { name, size, chunks: [] };
      return;
    }
    this.#bytes += size;
    if (this.#bytes > mostBytes) throw this.#wrong(` has more than ${mostBytes} bytes in it.`);
    const listed = this.#bundle?.members.find((member) => member.name === name);
    if (this.#bundle && listed?.size !== size) throw this.#wrong(`: ${name} is not what ${bundleFile} says.`);
    const target = join(this.#into, String(this.#files.size));
    const hash = createHash('sha256');
    this.#member = { name, size, path: target, fd: openSync(target, 'wx', 0o644), hash, wanted: listed?.sha256 };
  }

  data(bytes: Buffer): void {
    const member = this.#member!;
    // They are only lent.
    if ('chunks' in member) member.chunks.push(Buffer.from(bytes));
    else {
      member.hash.update(bytes);
      for (let at = 0; at < bytes.length; ) at += writeSync(member.fd, bytes, at);
    }
  }

  end(): void {
    const member = this.#member;
    if (!member) return;
    if ('chunks' in member) {
      const text = Buffer.concat(member.chunks).toString();
      if (member.name === bundleFile) this.#bundle = parseBundle(text, this.#file);
      else this.#reference = parseReferenceManifest(text, this.#file);
    } else {
      fsyncSync(member.fd);
      const { name, path, size, wanted } = member;
      const sha256 = member.hash.digest('hex');
      if (wanted !== undefined && wanted !== sha256)
        throw this.#wrong(` is damaged: ${name} is not what its checksum says.`);
      this.#files.set(name, { path, sha256, size });
    }
    this.close();
  }

  close(): void {
    if (this.#member && 'fd' in this.#member) closeSync(this.#member.fd);
    this.#member = undefined;
  }

  contents(): Contents {
    const [files, bundle, reference] = [this.#files, this.#bundle, this.#reference];
    const missing = bundle?.members.find(({ name }) => !files.has(name));
    if (missing) throw this.#wrong(` is incomplete: ${missing.name} is missing.`);
    if (!bundle && !reference)
      throw this.#wrong(` is no bundle of an image: there is neither ${bundleFile} nor ${referenceFile} in it.`);
    return { files, ...(bundle ? { bundle } : {}), ...(reference ? { reference } : {}) };
  }

  /** What says what else is in it: ours comes first. */
  #isText(name: string): boolean {
    const isFirst = this.#files.size === 0 && !this.#bundle && !this.#reference;
    return (name === bundleFile && isFirst) || (name === referenceFile && !this.#bundle);
  }

  #checkedName(name: string): string {
    const path = memberPath(name);
    if (path === undefined)
      throw this.#wrong(`: the name ${JSON.stringify(name.slice(0, 200))} leads out of the archive.`);
    return path;
  }

  #wrong(what: string): Fault {
    return new Fault('invalid', `${this.#file}${what}`);
  }
}

/** The member that is being read: one that is understood here, or one that is kept. */
type Member =
  | { readonly name: string; readonly size: number; readonly chunks: Buffer[] }
  | {
      readonly name: string;
      readonly size: number;
      readonly path: string;
      readonly fd: number;
      readonly hash: Hash;
      readonly wanted: string | undefined;
    };

/** The name of a member as a relative path without detours; undefined for one that leads elsewhere. */
function memberPath(name: string): string | undefined {
  if (name.startsWith('/') || /[\p{Cc}\\]/u.test(name)) return undefined;
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? undefined : parts.join('/');
}

/** What the file holds, decompressed. */
export async function* unpackedBytes(file: string): AsyncIterable<Buffer> {
  const handle = await openReal(file);
  if (!(await handle.stat()).isFile()) {
    await handle.close();
    throw new Fault('invalid', `${file} is not a plain file, so it is no bundle of an image.`);
  }
  const plain = handle.createReadStream({ highWaterMark: 1 << 20 });
  const unzipped = createGunzip();
  plain.on('error', (error) => unzipped.destroy(error));
  try {
    for await (const chunk of plain.pipe(unzipped)) yield chunk as Buffer;
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw new Fault('invalid', `${file} is not compressed by gzip, or it is damaged or cut off.`, { cause: error });
  } finally {
    plain.destroy();
    unzipped.destroy();
  }
}
