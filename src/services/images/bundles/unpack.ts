import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { Fault } from '../../../core/errors.ts';
import { openReal } from '../../../core/open-real.ts';
import { memberPath, readTar, type TarEntry } from '../../../core/tar/read.ts';
import type { Work } from '../../long-work/work.ts';
import { type Bundle, bundleFile, longestBundleFile, mostMembers, parseBundle } from './bundle.ts';
import { parseReferenceManifest } from './reference-manifest.ts';

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

/** Unpacks a bundle into an empty directory. It comes from elsewhere: nothing in it decides where anything is written. */
export async function unpackBundle(file: string, into: string, task: Work): Promise<Contents> {
  const files = new Map<string, Unpacked>();
  let bundle: Bundle | undefined;
  let reference: Record<string, string> | undefined;
  let all = 0;
  let first = true;
  for await (const entry of readTar(bytesOf(file), file, mostMembers)) {
    task.signal.throwIfAborted();
    const name = checkedName(entry, file);
    if (name === '' || entry.kind === 'directory') continue;
    if (entry.kind !== 'file')
      throw new Fault(
        'invalid',
        `${file}: ${JSON.stringify(entry.name)} is a link or a device; bundles hold files only.`,
      );
    if (files.has(name)) throw new Fault('invalid', `${file} has ${name} twice.`);
    if (name === bundleFile && first) bundle = parseBundle(await textOf(entry, file), file);
    else if (name === referenceFile && !bundle) reference = parseReferenceManifest(await textOf(entry, file), file);
    else {
      all += entry.size;
      if (all > mostBytes) throw new Fault('invalid', `${file} has more than ${mostBytes} bytes in it.`);
      const listed = bundle?.members.find((member) => member.name === name);
      if (bundle && listed?.size !== entry.size)
        throw new Fault('invalid', `${file}: ${name} is not what ${bundleFile} says.`);
      const unpacked = await write(entry, join(into, String(files.size)));
      if (listed && listed.sha256 !== unpacked.sha256)
        throw new Fault('invalid', `${file} is damaged: ${name} is not what its checksum says.`);
      files.set(name, unpacked);
    }
    first = false;
  }
  const missing = bundle?.members.find(({ name }) => !files.has(name));
  if (missing) throw new Fault('invalid', `${file} is incomplete: ${missing.name} is missing.`);
  if (!bundle && !reference)
    throw new Fault(
      'invalid',
      `${file} is no bundle of an image: there is neither ${bundleFile} nor ${referenceFile} in it.`,
    );
  return { files, ...(bundle ? { bundle } : {}), ...(reference ? { reference } : {}) };
}

function checkedName({ name }: TarEntry, file: string): string {
  const path = memberPath(name);
  if (path !== undefined) return path;
  throw new Fault('invalid', `${file}: the name ${JSON.stringify(name.slice(0, 200))} leads out of the archive.`);
}

async function* bytesOf(file: string): AsyncIterable<Buffer> {
  const handle = await openReal(file);
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

async function textOf(entry: TarEntry, file: string): Promise<string> {
  if (entry.size > longestBundleFile)
    throw new Fault('invalid', `${file}: ${entry.name} has more than ${longestBundleFile} bytes.`);
  const chunks: Buffer[] = [];
  for await (const chunk of entry.content()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function write(entry: TarEntry, path: string): Promise<Unpacked> {
  await mkdir(dirname(path), { recursive: true });
  const hash = createHash('sha256');
  const handle = await open(path, 'wx', 0o644);
  try {
    for await (const chunk of entry.content()) {
      hash.update(chunk);
      await handle.writeFile(chunk);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { path, sha256: hash.digest('hex'), size: entry.size };
}
