import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  mkdirSync,
  openSync,
  realpathSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { checkSafeDirectory } from '../../core/files.ts';
import { checkPath, packageDirectory, type User } from '../../names/index.ts';

/** Where the files of a worker's name server are. */
export interface NamedPlaces {
  /** For its configuration, which it only reads. */
  readonly configuration: string;
  /** For its copies of zones, which it alone writes. */
  readonly zones: string;
}

/** All in one directory. */
export const placesIn = (directory: string): NamedPlaces => ({
  configuration: directory,
  zones: join(directory, 'zones'),
});

/**
 * Where the package has such files, since its user cannot enter a directory of the worker, and AppArmor or SELinux lets named write nowhere
 * else. Root writes nothing where named may: it could put a link there.
 */
export function packagePlaces(ownDirectory: string): NamedPlaces {
  const own = `muster-worker-${basename(ownDirectory)}`;
  const configurations = existsSync('/etc/bind') ? '/etc/bind' : '/etc/named';
  return { configuration: join(configurations, own), zones: join(packageDirectory(), own) };
}

/** Makes the directories. `user`: whom named runs as, unless that is the user of the worker. */
export function makePlaces({ configuration, zones }: NamedPlaces, user: User | undefined): void {
  for (const path of [configuration, zones]) checkPath(path);
  mkdirSync(dirname(configuration), { recursive: true, mode: 0o755 });
  if (user) refuseUnsafe(dirname(configuration));
  const isNew = mkdirSync(configuration, { recursive: true, mode: 0o755 }) !== undefined;
  if (user) refuseUnsafe(configuration);
  // Whatever the umask.
  if (isNew && user) chmodSync(configuration, 0o755);
  mkdirSync(dirname(zones), { recursive: true, mode: 0o755 });
  makeZones(zones, user);
}

function refuseUnsafe(directory: string): void {
  try {
    checkSafeDirectory(realpathSync(directory));
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause;
    throw new Fault(
      'invalid',
      `It runs no name server: other users than root could change the configuration in ${directory}. ${cause.message} Or set worker.dnsDirectory to a directory that only root can change.`,
      { cause },
    );
  }
}

/** Named may write in the directory above and put a link there: nothing that a link leads to is made or given away. */
function makeZones(zones: string, user: User | undefined): void {
  try {
    mkdirSync(zones, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const handle = openDirectory(zones);
  try {
    if (!user) return;
    fchownSync(handle, user.uid, user.gid);
    fchmodSync(handle, 0o700);
  } finally {
    closeSync(handle);
  }
}

function openDirectory(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (!['ELOOP', 'ENOTDIR'].includes(code)) throw cause;
    throw new Fault(
      'unavailable',
      `It runs no name server: ${path} is a link or a file, and not a directory. Find out who put it there, and remove it.`,
      { cause },
    );
  }
}
