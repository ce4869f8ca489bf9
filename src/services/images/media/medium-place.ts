import { dirname, join, relative } from 'node:path';
import { Fault } from '../../../core/errors.ts';
import type { Snapshot } from '../../../database/snapshot.ts';
import { objectNames, storedAttribute } from '../../../objects/definitions.ts';
import { listItems } from '../../../objects/effective.ts';
import { typeNamed } from '../../../objects/types.ts';
import { fileAttributes } from '../bundles/bundle.ts';
import type { ImagePaths } from '../paths.ts';
import { isBelow, lstat, realPlace } from '../real-paths.ts';
import { markerName } from './marker.ts';
import { namesOs } from './recognise.ts';
import { archNamed } from './release.ts';

const osimage = typeNamed('osimage');
const what = 'The path of the tree';

/**
 * The real path of a tree that a caller wants elsewhere than in INSTALLDIR/OS/ARCH. A medium may hold any file, and images find their
 * templates, lists and scripts by name, so it goes only where nothing is ever looked for.
 */
export function mediumPlace(snapshot: Snapshot, paths: ImagePaths, path: string): string {
  const real = paths.place(snapshot, path, what);
  if (!paths.roots(snapshot).some((root) => isForMedia(relative(root, real))))
    throw new Fault(
      'invalid',
      `${what} ${path} is not for media: they are copied to INSTALLDIR/media/NAME or INSTALLDIR/OS/ARCH, such as ${paths.installDirectory(snapshot)}/rocky9.6-test/x86_64, ` +
        'or to the same places in a directory of the setting images.directories.',
    );
  checkOtherTrees(real, path);
  checkImages(snapshot, real, path);
  return real;
}

/** A path below a directory for images. */
function isForMedia(path: string): boolean {
  const [first = '', second = '', ...rest] = path.split('/');
  if (first === 'media') return second !== '';
  return rest.length === 0 && namesOs(first) && archNamed(second) !== undefined;
}

function checkOtherTrees(real: string, path: string): void {
  for (let above = dirname(real); above !== '/'; above = dirname(above))
    if (lstat(join(above, markerName)))
      throw new Fault(
        'invalid',
        `${what} ${path} is inside the tree of another medium, ${above}; choose another place.`,
      );
}

/** What an image names decides what runs on nodes; a medium must not bring it. */
function checkImages(snapshot: Snapshot, real: string, path: string): void {
  for (const image of objectNames(snapshot, osimage))
    for (const attribute of ['rootimgdir', ...fileAttributes])
      for (const named of listItems(storedAttribute(snapshot, osimage, image, attribute) ?? '')) {
        const place = realPlace(named);
        if (isBelow(place, real) || (attribute === 'rootimgdir' && isBelow(real, place)))
          throw new Fault(
            'invalid',
            `${what} ${path} is where the image ${image} has its ${attribute}, ${named}; choose another place.`,
          );
      }
}
