import { existsSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The build has every file in one directory, with all modules as JavaScript. */
const isBuilt = import.meta.filename.endsWith('.js');

/** The directory that muster is installed in: a checkout, or what a package has unpacked. */
export const home = isBuilt ? closestPackage(import.meta.dirname) : join(import.meta.dirname, '../..');

function closestPackage(directory: string): string {
  for (let at = directory; at !== dirname(at); at = dirname(at)) if (existsSync(join(at, 'package.json'))) return at;
  throw new Error(`No directory above ${directory} has a package.json; muster is not installed completely.`);
}

/**
 * The file of a module that a process or thread starts with, by its path in src without extension. From the build it is a file of the
 * same build, so that a running server never starts a part of a newer one. `scripts/build.ts` lists these modules.
 */
export const programFile = (module: string): string =>
  isBuilt ? join(import.meta.dirname, builtName(module)) : join(home, 'src', `${module}.ts`);

/** What browsers load as the web console. The sources have none of their own: they show that of the build. */
export const consoleFiles = isBuilt ? join(import.meta.dirname, 'web') : join(home, 'dist/web');

export const builtName = (module: string): string => `${module.replaceAll('/', '-')}.js`;

/** Says that this build is in use: one that nobody has used for a week is removed when another is made. */
export function keepBuild(): void {
  if (!isBuilt) return;
  try {
    utimesSync(import.meta.dirname, new Date(), new Date());
  } catch (error) {
    // A package, or somebody else's checkout, belongs to another user.
    if (!['EPERM', 'EACCES', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}

/** Files for images that come with muster: lists of packages and of files, a directory for each family of distributions. */
export const shippedImageFiles = join(home, 'share/images');

/** Scripts of the initial RAM disk. */
export const ramdiskFiles = join(home, 'share/ramdisk');

/** What nodes run to put the files of their overlays in place. */
export const overlayScript = join(home, 'share/overlay/place');

/** Where Node keeps what it has compiled. Compiling all modules again would take most of the time of a start. */
export const compileCache = process.env['NODE_COMPILE_CACHE'] || join(home, '.cache', 'compile');
