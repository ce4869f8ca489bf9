import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Fault } from '../../core/errors.ts';
import { syncFile } from '../../core/files.ts';
import { TarError } from '../../core/tar/header.ts';
import { TarReader } from '../../core/tar/reader.ts';
import { tarEnd, tarHeader, tarPadding } from '../../core/tar/write.ts';
import type { Work } from '../../work/index.ts';
import { entryOf, epochOf, type ImageJob, stagingFor, explainingDisk } from '../image-job.ts';
import { readManifestOf } from '../manifest.ts';
import { packDirectory } from '../pack/kept-packs.ts';
import { partOf } from '../pack/pack.ts';
import { checkStillReal } from '../real-paths.ts';
import { type Bundle, bundleFile, longestBundleFile, parseBundle } from './bundle.ts';
import { unpackedBytes } from './unpack.ts';

/** The image that a file is a bundle of, by its first member; undefined if muster did not write it. */
async function imageOfBundle(file: string): Promise<string | undefined> {
  try {
    return parseBundle(await firstMember(file), file).image;
  } catch (error) {
    if (error instanceof Fault || error instanceof TarError) return undefined;
    throw error;
  }
}

async function firstMember(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  let members = 0;
  let isWhole = false;
  const reader = new TarReader({
    entry({ path, size }) {
      if (++members === 1 && (path !== bundleFile || size > longestBundleFile))
        throw new TarError(`it does not begin with ${bundleFile}`);
    },
    data: (bytes) => void (members === 1 && chunks.push(Buffer.from(bytes))),
    end: () => void (isWhole = true),
  });
  for await (const chunk of unpackedBytes(file)) {
    reader.push(chunk);
    if (isWhole) break;
  }
  return Buffer.concat(chunks).toString();
}

export interface ExportJob extends ImageJob {
  readonly attributes: Readonly<Record<string, string>>;
  /** Files that attributes name. */
  readonly files: readonly { readonly attribute: string; readonly path: string }[];
  /** Whether the image has a packed root. */
  readonly packed: boolean;
  readonly destination: string;
}

export interface Exported {
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
}

interface Member {
  readonly path: string;
  readonly entry: Bundle['members'][number];
}

/** Writes an image with all that belongs to it into one file. */
export const work = (job: ExportJob, task: Work): Promise<Exported> =>
  explainingDisk(`The image ${job.image} cannot be exported`, job.destination, () => exportImage(job, task));

async function exportImage(job: ExportJob, task: Work): Promise<Exported> {
  const { image, directory, destination } = job;
  checkStillReal(destination);
  if (entryOf(destination) && !entryOf(destination)!.isFile())
    throw new Fault('invalid', `${destination} exists and is not a file; name another.`);
  if (entryOf(destination) && (await imageOfBundle(destination)) !== image)
    throw new Fault(
      'invalid',
      `${destination} exists and is no bundle of the image ${image}, so it was not changed; name another file, or move it away.`,
    );
  const manifest = await readManifestOf(image, directory);
  const pack = manifest?.packs.find(({ id }) => id === manifest.current);
  if (job.packed && !pack)
    throw new Fault(
      'invalid',
      `The image ${image} is not packed; pack it first: POST /osimages/${image}/instance {"action":"pack"}.`,
    );
  const members: Member[] = [];
  for (const [index, { attribute, path }] of job.files.entries()) {
    const { sha256, size } = await partOf(dirname(path), basename(path));
    members.push({ path, entry: { name: `files/${index}/${basename(path)}`, sha256, size, attribute } });
  }
  for (const part of pack?.parts ?? []) {
    const { file, sha256, size } = part;
    members.push({ path: join(packDirectory(directory, pack!), file), entry: { name: `image/${file}`, sha256, size } });
  }
  const bundle: Bundle = {
    format: 1,
    image,
    attributes: { ...job.attributes },
    members: members.map(({ entry }) => entry),
    ...(pack ? { pack: { method: pack.method, compress: pack.compress, when: pack.made.when, by: pack.made.by } } : {}),
    packages: manifest?.packages ?? [],
    ...(manifest?.kernel === undefined ? {} : { kernel: manifest.kernel }),
  };
  const staging = await stagingFor(destination, task);
  const made = join(staging, 'bundle');
  const time = pack ? epochOf(pack.made) : 0;
  await pipeline(
    Readable.from(bundleBytes(bundle, members, time, task)),
    // What is large in it is compressed already.
    createGzip({ level: 1 }),
    createWriteStream(made, { flags: 'wx', mode: 0o644 }),
    { signal: task.signal },
  );
  await syncFile(made);
  await mkdir(dirname(destination), { recursive: true, mode: 0o755 });
  checkStillReal(destination);
  await rename(made, destination);
  const { sha256, size } = await partOf(dirname(destination), basename(destination));
  task.tell(`${destination}: ${size} bytes, SHA-256 ${sha256}.`);
  return { file: destination, size, sha256 };
}

async function* bundleBytes(
  bundle: Bundle,
  members: readonly Member[],
  time: number,
  task: Work,
): AsyncIterable<Buffer> {
  const text = Buffer.from(`${JSON.stringify(bundle, undefined, 1)}\n`);
  yield tarHeader({ name: bundleFile, size: text.length, mode: 0o644, time });
  yield text;
  yield tarPadding(text.length);
  const all = members.reduce((sum, { entry }) => sum + entry.size, 0);
  let done = 0;
  for (const { path, entry } of members) {
    yield tarHeader({ name: entry.name, size: entry.size, mode: 0o644, time });
    let length = 0;
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
      length += (chunk as Buffer).length;
      task.progress((done += (chunk as Buffer).length), all);
      yield chunk as Buffer;
    }
    if (length !== entry.size) throw new Fault('invalid', `${path} was changed while it was read; try again.`);
    yield tarPadding(entry.size);
  }
  yield tarEnd();
}
