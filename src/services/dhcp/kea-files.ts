import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
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
  /** Kea wants to be told where else it may write. */
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
