import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { objectNames } from '../../objects/definitions.ts';
import { typeNamed } from '../../objects/types.ts';
import { describeDiskless } from './describe-image.ts';
import { entryOf } from './image-job.ts';
import type { Images } from './images.ts';
import { manifestFile, treeName } from './manifest.ts';
import { realPlace } from './real-paths.ts';
import { privateTree } from './tree/private-tree.ts';

const osimage = typeNamed('osimage');

/**
 * Moves the trees that an older muster left open to every user of this machine to where only root reaches them. A tree that
 * muster has not worked on stays where it is, and the log says so.
 */
export async function protectTrees(snapshot: Snapshot, images: Images, log: Logger): Promise<void> {
  for (const directory of new Set([...usualDirectories(snapshot, images), ...definedDirectories(snapshot, images)])) {
    try {
      if (entryOf(join(directory, manifestFile))) await privateTree(directory, (line) => log.info(line));
      else if (entryOf(join(directory, treeName))?.isDirectory()) log.warn(openTree(directory));
    } catch (error) {
      log.warn(
        error instanceof Fault ? error.message : `${directory} cannot be protected: ${(error as Error).message}.`,
      );
    }
  }
}

const openTree = (directory: string): string =>
  `${join(directory, treeName)} was not made by muster, and every user of this machine may be able to run its set-user-ID programs as root. Pack the image, which moves the tree to where only root can enter, or close the directories above it.`;

function definedDirectories(snapshot: Snapshot, images: Images): string[] {
  return objectNames(snapshot, osimage).flatMap((name) => {
    try {
      return describeDiskless(snapshot, images, name, '').job.directory;
    } catch (error) {
      // It is no diskless image, or whoever works on it is told what is wrong with its definition.
      if (error instanceof Fault) return [];
      throw error;
    }
  });
}

/** Those of images whose definitions are gone lie there too. */
function usualDirectories(snapshot: Snapshot, images: Images): string[] {
  const install = realPlace(images.paths.installDirectory(snapshot));
  const below = (directories: readonly string[]): string[] =>
    directories.flatMap((directory) =>
      entryOf(directory)?.isDirectory() ? readdirSync(directory).map((name) => join(directory, name)) : [],
    );
  return below(below(below([join(install, 'netboot'), join(install, 'statelite')])));
}
