import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { objectNames, storedAttribute } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { typeNamed } from '../../objects/types.ts';
import { fileAttributes } from '../bundles/bundle.ts';
import type { ImagePaths } from '../paths.ts';
import { lstat, realPlace } from '../real-paths.ts';
import { type ImagePlace, markerName } from './place.ts';
import { namesOs } from './recognise.ts';
import { archNamed } from './medium.ts';

/** What a request asks for besides the medium. */
interface CopyOptions {
  readonly name?: string | undefined;
  readonly arch?: string | undefined;
  readonly path?: string | undefined;
  readonly inspect?: boolean | undefined;
  readonly noosimage?: boolean | undefined;
  readonly nonoverwrite?: boolean | undefined;
}

const flags = { name: '-n', arch: '-a', path: '-p', inspect: '-i', noosimage: '-o', nonoverwrite: '-w' } as const;

/** As the reference system writes them. */
export const optionWords = (options: CopyOptions): string[] =>
  (Object.keys(flags) as (keyof CopyOptions)[]).flatMap((option) => {
    const value = options[option];
    return value === undefined || value === false ? [] : value === true ? [flags[option]] : [flags[option], value];
  });

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

const directoryAttributes = ['rootimgdir', 'otherpkgdir', 'kerneldir', 'driverupdatesrc'] as const;
/** `s:` and its like before partition files, `dir:` before drivers. */
const prefixes = /^(?:[a-z]+:)+(?=\/)/;

/** All that images name on this machine, but for `pkgdir`: that is the trees of media themselves. */
export const imagePlaces = (snapshot: Snapshot): ImagePlace[] =>
  objectNames(snapshot, osimage).flatMap((image) =>
    [...directoryAttributes, ...fileAttributes].flatMap((attribute) =>
      listItems(storedAttribute(snapshot, osimage, image, attribute) ?? '')
        .map((named) => ({ named, path: named.replace(prefixes, '') }))
        .filter(({ path }) => isAbsolute(path))
        .map(({ named, path }) => ({
          image,
          attribute,
          named,
          real: realPlace(resolve(path)),
          isDirectory: (directoryAttributes as readonly string[]).includes(attribute),
        })),
    ),
  );
