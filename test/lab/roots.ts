import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKeyPair } from '../../src/protocols/ssh/host-keys.ts';
import { labAddresses } from './addresses.ts';
import { refuseBound, waitBound } from './bound.ts';
import { type LabChild, startChild } from './child.ts';
import { descendants } from './ssh/daemon.ts';

export interface RootsOptions {
  readonly count: number;
  readonly prefix: string;
  readonly port: number;
  /** Bytes that all changes of one node may take. */
  readonly size?: number;
  /** Nodes that share one root file system and its sshd, at most 16; default: each has its own. */
  readonly perRoot?: number;
}

/**
 * Nodes with a whole root file system each: this machine's own with changes that are kept in memory, behind a real sshd. What is
 * done there is not seen here. Needs root.
 */
export interface RootLab {
  readonly addresses: readonly string[];
  readonly port: number;
  /** The path here of a file there. */
  path(index: number, file: string): string;
  read(index: number, file: string): Buffer;
  write(index: number, file: string, content: string | Buffer, mode?: number): void;
  /** Kills all that serves connections of the node's sshd. */
  sever(index: number): void;
  /** Lets root in with that key, a line in the format of authorized_keys. */
  authorize(publicKey: string): void;
  stop(): Promise<void>;
}

/** What of this machine a node must not have: start-up files, and repositories of packages on the network. */
const emptied = ['/root/.bashrc', '/etc/apt/sources.list'];
const removed = [
  '/etc/apt/sources.list.d',
  '/etc/yum.repos.d',
  '/etc/zypp/repos.d',
  '/root/.rpmdb',
  '/root/.ssh',
  '/var/lib/rpm',
  '/var/xcat',
  '/xcatpost',
];

export async function startRoots(options: RootsOptions): Promise<RootLab> {
  const { count, prefix, port, size = 64 << 20, perRoot = 1 } = options;
  const addresses = labAddresses(prefix, count);
  refuseBound('tcp', addresses, port);
  const directory = await mkdtemp(join(tmpdir(), 'muster-roots-'));
  const roots: LabChild[] = [];
  const severRoot = (root: LabChild): void => descendants(root.process.pid ?? 0).forEach(kill);
  const stop = async (): Promise<void> => {
    roots.forEach(severRoot);
    await Promise.all(roots.map((root) => root.stop()));
    await rm(directory, { recursive: true, force: true });
  };
  const rootOf = (index: number): LabChild => roots[Math.floor(index / perRoot)]!;
  const path = (index: number, file: string): string => `/proc/${rootOf(index).process.pid}/root${file}`;
  try {
    for (let first = 0; first < count; first += perRoot)
      roots.push(launch(directory, first, addresses.slice(first, first + perRoot), port, size));
    await waitBound('tcp', addresses, port, roots);
  } catch (error) {
    await stop();
    throw error;
  }
  for (const index of addresses.keys()) {
    for (const file of emptied) writeFileSync(path(index, file), '');
    for (const file of removed) rmSync(path(index, file), { recursive: true, force: true });
  }
  const write: RootLab['write'] = (index, file, content, mode = 0o644) => {
    mkdirSync(path(index, join(file, '..')), { recursive: true });
    writeFileSync(path(index, file), content, { mode });
  };
  return {
    addresses,
    port,
    path,
    sever: (index) => severRoot(rootOf(index)),
    read: (index, file) => readFileSync(path(index, file)),
    write,
    authorize(publicKey) {
      for (const index of addresses.keys()) write(index, '/etc/ssh/lab_keys', `${publicKey.trim()}\n`);
    },
    stop,
  };
}

function launch(directory: string, index: number, addresses: readonly string[], port: number, size: number): LabChild {
  const place = join(directory, `n${index}`);
  const key = newKeyPair('lab');
  mkdirSync(place);
  const script = [
    `mount -t tmpfs -o size=${size} tmpfs '${place}'`,
    `cd '${place}' && mkdir changes work root`,
    'mount -t overlay overlay -o lowerdir=/,upperdir=changes,workdir=work root',
    'mount --rbind /dev root/dev && mount -t proc proc root/proc',
    'mkdir -p root/run/sshd && cat > root/etc/ssh/lab_key && chmod 600 root/etc/ssh/lab_key',
    `exec chroot root /usr/sbin/sshd -D -e -f /dev/null ${configuration(addresses, port)
      .map((each) => `-o '${each}'`)
      .join(' ')}`,
  ].join(' && ');
  const keyFile = join(directory, `n${index}.key`);
  writeFileSync(keyFile, key.privateKey, { mode: 0o600 });
  const logFile = join(directory, `n${index}.log`);
  return startChild('unshare', ['-m', 'sh', '-c', `exec < '${keyFile}'; ${script}`], { directory, logFile });
}

const configuration = (addresses: readonly string[], port: number): string[] => [
  ...addresses.map((address) => `ListenAddress ${address}:${port}`),
  'HostKey /etc/ssh/lab_key',
  'AuthorizedKeysFile /etc/ssh/lab_keys',
  'Subsystem sftp /usr/lib/openssh/sftp-server',
  'StrictModes no',
  'PermitRootLogin yes',
  'PasswordAuthentication no',
  'UsePAM no',
  'UseDNS no',
  'PrintMotd no',
  'PidFile none',
  'MaxStartups 100',
  'LogLevel ERROR',
];

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}
