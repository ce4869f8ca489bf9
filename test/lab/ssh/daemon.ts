import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type LabChild, startChild } from '../child.ts';

/** One place of a lab: an address and the home directory that is seen behind it. */
export interface SshPlace {
  readonly address: string;
  readonly name: string;
  readonly home: string;
  /** Bytes of the file system its home is on; undefined: that of the lab. */
  readonly disk?: number | undefined;
}

export interface DaemonOptions {
  readonly directory: string;
  readonly name: string;
  readonly port: number;
  readonly authorizedKeys: string;
  readonly hostKey: string;
  readonly places: readonly SshPlace[];
  /** What is seen behind all of them in the place of another directory. */
  readonly mounts?: Readonly<Record<string, string>> | undefined;
}

/**
 * sshd goes to the account's real home; bash, when sshd starts it, reads this, which goes to that of the place. A forced command
 * would do it too, but sshd hands no signals to forced commands.
 */
const startUp = 'cd';

/** sshd listens on at most so many addresses. */
export const maximumAddresses = 16;

/**
 * One sshd for several addresses. It tells them apart by the address a client came to, and gives each its own home: the account's
 * real one may hold start-up files that cost more than the command.
 */
export function startDaemon(options: DaemonOptions): LabChild {
  const { directory, name, places, mounts: instead = {} } = options;
  const configuration = join(directory, `${name}.conf`);
  writeFileSync(configuration, configurationOf(options));
  const daemon = ['/usr/sbin/sshd', '-D', '-e', '-f', configuration];
  // sshd insists on this directory when root starts it; Debian makes it when the service starts.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const disks = places.filter(({ disk }) => disk !== undefined);
  for (const { home } of places) writeFileSync(join(home, '.bashrc'), startUp);
  // Mounts in a namespace of its own are gone when the daemon is.
  const mounts = disks.map(
    ({ home, disk }) =>
      `mount -t tmpfs -o size=${disk},mode=700 tmpfs '${home}' && echo '${startUp}' > '${home}/.bashrc' && `,
  );
  mounts.push(...Object.entries(instead).map(([at, what]) => `mount --bind '${what}' '${at}' && `));
  const [program = '', ...words] =
    mounts.length === 0 ? daemon : ['unshare', '-m', 'sh', '-c', `${mounts.join('')}exec "$@"`, 'sh', ...daemon];
  return startChild(program, words, { directory, logFile: join(directory, `${name}.log`) });
}

function configurationOf({ port, authorizedKeys, hostKey, places }: DaemonOptions): string {
  const general = [
    ...places.map(({ address }) => `ListenAddress ${address}:${port}`),
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${authorizedKeys}`,
    'Subsystem sftp /usr/lib/openssh/sftp-server',
    'StrictModes no',
    'PermitRootLogin yes',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'UsePAM no',
    'UseDNS no',
    'PrintMotd no',
    'PrintLastLog no',
    'PidFile none',
    'MaxStartups 3000',
    'MaxSessions 1000',
    'LogLevel ERROR',
  ];
  const each = places.map(
    ({ address, name, home }) => `Match LocalAddress ${address}\n  SetEnv HOME=${home} LAB_NAME=${name}`,
  );
  return `${[...general, ...each].join('\n')}\n`;
}

/** The processes that serve the daemon's connections, then all they have started: who is killed first tells nobody of the rest. */
export function descendants(pid: number): number[] {
  const children = childrenOf(pid);
  return [...children, ...children.flatMap(descendants)];
}

/** The daemon's connections. */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}
