import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { chmod, chown, copyFile, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { syncDirectory } from '../../core/files.ts';
import { type User, userNamed } from '../daemons/daemon.ts';
import type { Family } from './document.ts';

export interface KeaFiles {
  readonly configuration: string;
  readonly socket: string;
  readonly leaseFile: string;
  /** Who must be able to read the configuration; undefined: who could before. */
  readonly reader: User | undefined;
  /** Where Kea keeps what else it has to remember, such as its identifier; undefined: where it is used to. */
  readonly directory: string | undefined;
  /** Kea must know where else it may write. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Not every user has the directory of server programs in the path. */
const path = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };

export function ownFiles(directory: string, family: Family): KeaFiles {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return {
    configuration: join(directory, `kea-dhcp${family}.json`),
    socket: join(directory, `kea${family}.sock`),
    leaseFile: join(directory, `leases${family}.csv`),
    reader: undefined,
    directory,
    environment: {
      ...path,
      KEA_PIDFILE_DIR: directory,
      KEA_LOCKFILE_DIR: directory,
      KEA_DHCP_DATA_DIR: directory,
      KEA_CONTROL_SOCKET_DIR: directory,
      KEA_LOG_FILE_DIR: directory,
    },
  };
}

/** Where Debian's units and their AppArmor profiles expect them. */
export const systemFiles = (family: Family): KeaFiles => ({
  configuration: `/etc/kea/kea-dhcp${family}.conf`,
  socket: `/run/kea/kea${family}-ctrl-socket`,
  leaseFile: `/var/lib/kea/kea-leases${family}.csv`,
  reader: userNamed('_kea') ?? userNamed('kea'),
  directory: undefined,
  environment: path,
});

const hookDirectories = (): string[] => {
  const multiarch = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((name) => name.endsWith('-linux-gnu')) : [];
  return [...multiarch.map((name) => `/usr/lib/${name}`), '/usr/lib64', '/usr/lib', '/usr/local/lib'].map((library) =>
    join(library, 'kea/hooks'),
  );
};

/** Libraries that let Kea show leases and, in newer versions, take reservations one by one and read PostgreSQL. */
export function installedHooks(database: boolean, directories = hookDirectories()): string[] {
  const directory = directories.find((each) => existsSync(each));
  if (directory === undefined) return [];
  return ['libdhcp_lease_cmds.so', 'libdhcp_host_cmds.so', ...(database ? ['libdhcp_pgsql.so'] : [])]
    .map((library) => join(directory, library))
    .filter((file) => existsSync(file));
}

export async function readConfiguration(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes a candidate beside the file, so that Kea can look at it before it takes the file's place. It may hold a password, and Kea may
 * run as a user of its own: the candidate belongs to the group of that user, or to whom the file belongs, or to the group of the
 * directory.
 */
export async function writeCandidate({ configuration: file, reader }: KeaFiles, text: string): Promise<string> {
  const candidate = `${file}.new`;
  try {
    await removeFile(candidate);
    const handle = await open(candidate, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const old = reader ? undefined : await stat(file).catch(() => undefined);
    const owner = old ?? { uid: process.getuid!(), gid: reader?.gid ?? (await stat(dirname(file))).gid };
    if (owner.uid !== process.getuid!() || owner.gid !== process.getgid!())
      await chown(candidate, owner.uid, owner.gid);
    await chmod(candidate, old ? old.mode & 0o660 : 0o640);
  } catch (error) {
    await removeFile(candidate).catch(() => undefined);
    throw new Fault('unavailable', `${file} cannot be written: ${(error as Error).message}.`, { cause: error });
  }
  return candidate;
}

export async function putInPlace(candidate: string, file: string): Promise<void> {
  await rename(candidate, file);
  syncDirectory(dirname(file));
}

export const keepAside = (file: string): Promise<void> => copyFile(file, `${file}.before-muster`);

export const removeFile = (file: string): Promise<void> => rm(file, { force: true });
