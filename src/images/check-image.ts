import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader } from '../objects/effective.ts';
import { imageNamed } from '../objects/node-image.ts';
import type { Images } from './images.ts';

/** Attributes that name files and directories of the management node. */
const pathAttributes = [
  'pkglist',
  'pkgdir',
  'otherpkglist',
  'otherpkgdir',
  'exlist',
  'postinstall',
  'synclists',
  'template',
  'partitionfile',
] as const;

export interface CheckedImage {
  /** What was looked at and is there: `pkglist /install/custom/compute.pkglist`. */
  readonly found: readonly string[];
  readonly problems: readonly string[];
}

/** Whether what the definition of an image names is there, and may be read for images. */
export function checkImage(snapshot: Snapshot, images: Images, name: string): CheckedImage {
  const image = imageNamed(effectiveReader(snapshot), name);
  const found: string[] = [];
  const problems: string[] = [];
  for (const attribute of pathAttributes)
    for (const path of listItems(image.attribute(attribute)).map(pathOf)) {
      if (isElsewhere(path)) continue;
      try {
        images.paths.source(snapshot, path, `${name}: ${attribute}`);
        found.push(`${attribute} ${path}`);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        problems.push(...error.sentences);
      }
    }
  return { found, problems };
}

/** Partition files may be scripts (`s:`) or name disks (`d:`); the arguments of a script follow its path. */
const pathOf = (text: string): string => text.replace(/^[sd]:/, '').split(' ', 1)[0]!;

const isElsewhere = (path: string): boolean => !path.startsWith('/') || path.startsWith('//');
