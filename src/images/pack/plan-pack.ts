import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Fault, unlessFault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import type { Sources } from '../../access/file-sources.ts';
import { listFiles } from '../../objects/node-image.ts';
import { readRealText, SyncLists } from '../../nodes/index.ts';
import { describeDiskless } from '../describe-image.ts';
import type { Images } from '../images.ts';
import type { Used } from '../manifest.ts';
import { readExclusions } from './exclusions.ts';
import { type PackJob, packMethods, type PackMethod } from './pack-job.ts';

export interface PackOptions {
  readonly by: string;
  readonly method: string | undefined;
  readonly compress: string | undefined;
  readonly syncFiles: boolean;
  readonly ifChanged: boolean;
  readonly sources: Sources;
}

/** Reads all that goes into a packed image besides its tree. */
export async function planPack(
  snapshot: Snapshot,
  images: Images,
  name: string,
  options: PackOptions,
): Promise<PackJob> {
  const { image, job } = describeDiskless(snapshot, images, name, options.by);
  const { method, compress } = checkMethod(options);
  const reader = effectiveReader(snapshot);
  const lists: Used[] = [];
  const read = async (path: string): Promise<string> => {
    const text = await readRealText(images.paths.source(snapshot, path, `${name}: exlist`), path);
    lists.push({ path, sha256: createHash('sha256').update(text).digest('hex') });
    return text;
  };
  const exclusions = await readExclusions(listFiles(reader, image, 'exlist', 'exlist'), read);
  const password = await images.rootPassword(snapshot, name);
  const found = new SyncLists(reader, options.sources, []);
  const paths = options.syncFiles ? await found.pathsOf(image) : [];
  return {
    ...job,
    method,
    compress,
    exclusions,
    ...(password === undefined ? {} : { password }),
    key: images.publicKey,
    sync: paths.map((path) => unlessFault(found.found.all[path]!)),
    lists,
    ramdisk: join(images.ramdisks, job.osarch),
    toDisk: image.method === 'sysclone',
    ifChanged: options.ifChanged,
    kept: images.keptPacks,
  };
}

function checkMethod({ method = 'squashfs', compress }: PackOptions): { method: PackMethod; compress: string } {
  if (!Object.hasOwn(packMethods, method))
    throw new Fault(
      'invalid',
      `Images are packed as ${Object.keys(packMethods).join(' or ')}, not as ${JSON.stringify(method)}.`,
    );
  const known: readonly string[] = packMethods[method as PackMethod];
  const chosen = compress ?? known[0]!;
  if (!known.includes(chosen))
    throw new Fault('invalid', `${method} is compressed by ${known.join(', ')}, not by ${JSON.stringify(chosen)}.`);
  return { method: method as PackMethod, compress: chosen };
}
