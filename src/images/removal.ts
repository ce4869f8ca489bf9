import { readdirSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import type { Work } from '../work/index.ts';
import { entryOf, type ImageJob, stagingFor, explainingDisk } from './image-job.ts';
import { manifestFile, packsName, privateName, readManifestOf, treeName } from './manifest.ts';
import { ownFiles } from './pack/kept-packs.ts';
import { checkStillReal, isBelow } from './real-paths.ts';

export interface Removed {
  readonly removed: readonly string[];
  /** What muster did not make and so left there. */
  readonly left: readonly string[];
}

/**
 * Removes what was built and packed for an image: exactly what its manifest names. A directory without one was not made by muster, and
 * nothing in it is touched.
 */
export const work = (job: ImageJob, task: Work): Promise<Removed> =>
  explainingDisk(`The image ${job.image} cannot be removed`, job.directory, () => remove(job, task));

async function remove(job: ImageJob, task: Work): Promise<Removed> {
  const { image, directory } = job;
  checkStillReal(directory);
  if (!entryOf(directory)?.isDirectory())
    throw new Fault('invalid', `The image ${image} has no directory ${directory}; there is nothing to remove.`);
  const manifest = await readManifestOf(image, directory);
  if (!manifest)
    throw new Fault(
      'invalid',
      `${directory} was not made by muster (it has no ${manifestFile}), so nothing in it is removed.`,
    );
  const mount = mountsBelow(directory)[0];
  if (mount !== undefined) throw new Fault('invalid', `Something is mounted at ${mount}; unmount it first.`);
  const isOurs = manifest.source.kind !== 'found';
  const named = isOurs
    ? [treeName, privateName, packsName, ...ownFiles(manifest)]
    : [packsName, ...ownFiles(manifest).filter((name) => name.startsWith('rootimg.'))];
  // The manifest goes last, so that whoever is killed on the way can begin again.
  const removed = [...named.filter((name) => entryOf(join(directory, name))), manifestFile];
  const left = readdirSync(directory).filter((name) => !removed.includes(name));
  const staging = await stagingFor(directory, task, { movesOnly: true });
  if (left.length === 0) await rename(directory, join(staging, 'image'));
  else {
    for (const name of removed) await rename(join(directory, name), join(staging, name));
    task.tell(`${left.join(', ')} in ${directory} was not made by muster and stays.`);
  }
  return { removed, left };
}

/** Where other file systems are mounted, below a directory or at it. */
function mountsBelow(directory: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    )
    .filter((path) => path !== '' && isBelow(path, directory));
}
