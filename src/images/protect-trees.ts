import { readdirSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { objectNames, storedAttribute } from '../objects/definitions.ts';
import { typeNamed } from '../objects/types.ts';
import { describeDiskless, isBuiltMethod } from './describe-image.ts';
import { entryOf } from './image-job.ts';
import type { Images } from './images.ts';
import { manifestFile, packsName, privateName, treeName } from './manifest.ts';
import { realPlace } from './real-paths.ts';
import { privateTree } from './tree/private-tree.ts';

const deepest = 6;
const mostDirectories = 100_000;
/** Trees are large and hold no images; what runs have staged (`.muster-RUN-1`) is no image yet. */
const isNoPlace = (name: string): boolean => name === treeName || name === privateName || name.startsWith('.muster-');

/**
 * The directories of images below others, found by their manifests, those nearest to the top first. Links are not followed. `warn` hears
 * of what was left out.
 */
async function* findImages(
  roots: readonly string[],
  warn: (line: string) => void,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const places = new Set(roots);
  let looked = 0;
  let level = [...places];
  for (let depth = 0; depth <= deepest && level.length > 0; depth++) {
    const below: string[] = [];
    for (const directory of level) {
      if (signal.aborted) return;
      if (++looked > mostDirectories) {
        warn(
          `Only ${mostDirectories} directories below ${roots.join(', ')} were searched for images whose trees are open to every user of this machine. Find the others with "find ${roots.join(' ')} -name ${manifestFile}", and make "${treeName}" beside them inaccessible to others.`,
        );
        return;
      }
      const { isImage, directories } = await lookInto(directory, warn);
      if (isImage) yield directory;
      for (const name of directories) {
        const path = join(directory, name);
        if ((isImage && name === packsName) || isNoPlace(name) || places.has(path)) continue;
        below.push(path);
      }
    }
    level = below;
  }
}

async function lookInto(directory: string, warn: (line: string) => void) {
  let isImage = false;
  const directories: string[] = [];
  try {
    for await (const entry of await opendir(directory)) {
      if (entry.name === manifestFile) isImage = true;
      else if (entry.isDirectory()) directories.push(entry.name);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') warn(`${directory} cannot be searched for trees of images: ${message}.`);
  }
  return { isImage, directories };
}

const osimage = typeNamed('osimage');

/**
 * Moves the trees that an older muster left open to every user of this machine to where only root reaches them. A tree that
 * muster has not worked on stays where it is, and the log says so. Returns the directories that it looked at.
 */
export async function protectTrees(snapshot: Snapshot, images: Images, log: Logger): Promise<ReadonlySet<string>> {
  const directories = new Set([...usualDirectories(snapshot, images), ...definedDirectories(snapshot, images, log)]);
  for (const directory of directories)
    await warning(directory, log, async () => {
      if (entryOf(join(directory, manifestFile))) await privateTree(directory, (line) => log.info(line));
      else if (entryOf(join(directory, treeName))?.isDirectory()) log.warn(openTree(directory));
    });
  return directories;
}

/** The same for images that have no definition any more and lay elsewhere than usual. It may take a while, so nobody waits for it. */
export async function protectForgottenTrees(
  roots: readonly string[],
  known: ReadonlySet<string>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  for await (const directory of findImages(roots, (line) => log.warn(line), signal))
    if (!known.has(directory)) await warning(directory, log, () => privateTree(directory, (line) => log.info(line)));
}

async function warning(directory: string, log: Logger, protect: () => Promise<unknown>): Promise<void> {
  try {
    await protect();
  } catch (error) {
    log.warn(`The tree in ${directory} may be open to every user of this machine: ${(error as Error).message}`);
  }
}

const openTree = (directory: string): string =>
  `${join(directory, treeName)} was not made by muster, and every user of this machine may be able to run its set-user-ID programs as root. Pack the image, which moves the tree to where only root can enter, or close the directories above it.`;

function definedDirectories(snapshot: Snapshot, images: Images, log: Logger): string[] {
  return objectNames(snapshot, osimage).flatMap((name) => {
    if (!isBuiltMethod(storedAttribute(snapshot, osimage, name, 'provmethod'))) return [];
    try {
      return describeDiskless(snapshot, images, name, '').job.directory;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      log.warn(`If the image ${name} has a tree, it may be open to every user of this machine: ${error.message}`);
      return [];
    }
  });
}

/** Most of those whose definitions are gone lie there too. */
function usualDirectories(snapshot: Snapshot, images: Images): string[] {
  const install = realPlace(images.paths.installDirectory(snapshot));
  const below = (directories: readonly string[]): string[] =>
    directories.flatMap((directory) =>
      entryOf(directory)?.isDirectory() ? readdirSync(directory).map((name) => join(directory, name)) : [],
    );
  return below(below(below([join(install, 'netboot'), join(install, 'statelite')])));
}
