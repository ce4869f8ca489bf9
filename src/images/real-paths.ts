import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { Fault } from '../core/errors.ts';

/** For the process that does the work: a path that was judged before (paths.ts) must still lead there. */
export function checkStillReal(path: string): void {
  if (realPlace(path) !== path || lstat(path)?.isSymbolicLink())
    throw new Fault(
      'invalid',
      `${path} leads elsewhere now: a directory on the way was replaced by a link. Try again.`,
    );
}

export const lstat = (path: string) => lstatSync(path, { throwIfNoEntry: false });

export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Where a path leads, as far as it exists; the rest is what it says. */
export function realPlace(path: string): string {
  const real = realPathOf(path);
  if (real !== undefined || path === '/') return real ?? path;
  return join(realPlace(dirname(path)), path.slice(path.lastIndexOf('/') + 1));
}

export const isBelow = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
