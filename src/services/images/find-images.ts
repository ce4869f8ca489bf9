import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestFile, packsName, privateName, treeName } from './manifest.ts';

const deepest = 6;
const mostDirectories = 100_000;
/** Trees are large and hold no images; what runs have staged (`.muster-RUN-1`) is no image yet. */
const isNoPlace = (name: string): boolean => name === treeName || name === privateName || name.startsWith('.muster-');

/**
 * The directories of images below others, found by their manifests, those nearest to the top first. Links are not followed. `tell` hears
 * of what was left out.
 */
export async function* findImages(
  roots: readonly string[],
  tell: (line: string) => void,
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
        tell(
          `Only ${mostDirectories} directories below ${roots.join(', ')} were searched for images whose trees are open to every user of this machine. Find the others with "find ${roots.join(' ')} -name ${manifestFile}", and make "${treeName}" beside them inaccessible to others.`,
        );
        return;
      }
      const { isImage, directories } = await lookInto(directory, tell);
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

async function lookInto(directory: string, tell: (line: string) => void) {
  let isImage = false;
  const directories: string[] = [];
  try {
    for await (const entry of await opendir(directory)) {
      if (entry.name === manifestFile) isImage = true;
      else if (entry.isDirectory()) directories.push(entry.name);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') tell(`${directory} cannot be searched for trees of images: ${message}.`);
  }
  return { isImage, directories };
}
