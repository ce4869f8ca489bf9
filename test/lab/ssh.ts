import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { newKeyPair } from '../../src/protocols/ssh/host-keys.ts';
import { labAddresses } from './addresses.ts';
import { refuseBound, waitBound } from './bound.ts';
import type { LabChild } from './child.ts';
import { childrenOf, descendants, maximumAddresses, type SshPlace, startDaemon } from './ssh/daemon.ts';

export interface SshLabOptions {
  readonly count: number;
  /** The /16 below which the targets are, such as `127.122`. */
  readonly prefix: string;
  /** Default: 2222, because the machine may have an sshd of its own on 22. */
  readonly port?: number;
  /** Addresses of one sshd, at most and by default 16. What is done to one of them is done to all of one sshd. */
  readonly perProcess?: number;
  /** Below which homes are made; default: a temporary directory. */
  readonly directory?: string;
  /** Places that take connections and never say a word. */
  readonly hanging?: readonly number[];
  /** Places where nothing listens. */
  readonly refusing?: readonly number[];
  /** Bytes of the file systems that the homes of some places are on. */
  readonly disks?: Readonly<Record<number, number>>;
  /** What is seen behind all places in the place of another directory. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** Real sshd on loopback addresses, each with a home directory of its own; a command finds its place's name in `LAB_NAME`. */
export interface SshLab {
  readonly addresses: readonly string[];
  readonly port: number;
  /** The account that the keys are for: the one the lab runs as. */
  readonly username: string;
  /** A key that every place accepts, in OpenSSH's format, and the file it is in. */
  readonly privateKey: string;
  readonly privateKeyFile: string;
  home(index: number): string;
  name(index: number): string;
  /** Accepts another key, a line in the format of authorized_keys. */
  authorize(publicKey: string): void;
  /** The host key as `ssh-ed25519 AAAA...`. */
  hostKey(index: number): string;
  /** Starts the place's sshd again with another host key. */
  changeHostKey(index: number): Promise<void>;
  /** Open connections of the place's sshd. */
  connections(index: number): number;
  /** Kills all that serves connections of the place's sshd. */
  sever(index: number): void;
  stop(): Promise<void>;
}

interface Group {
  readonly name: string;
  readonly places: readonly SshPlace[];
  daemon: LabChild;
}

export async function startSsh(options: SshLabOptions): Promise<SshLab> {
  const { count, prefix, port = 2222, perProcess = maximumAddresses, hanging = [], refusing = [] } = options;
  const addresses = labAddresses(prefix, count);
  refuseBound('tcp', addresses, port);
  const directory = await mkdtemp(join(options.directory ?? tmpdir(), 'muster-ssh-'));
  const authorizedKeys = join(directory, 'authorized_keys');
  const privateKeyFile = join(directory, 'id_ed25519');
  const key = newKey(privateKeyFile);
  writeFileSync(authorizedKeys, `${key.publicKey}\n`, { mode: 0o644 });

  const places = addresses.map((address, index): SshPlace => {
    const home = join(directory, 'homes', `t${index}`);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return { address, name: `t${index}`, home, disk: options.disks?.[index] };
  });
  const served = places.filter((_, index) => !hanging.includes(index) && !refusing.includes(index));
  const groups: Group[] = [];
  const silent: Server[] = [];
  const launch = (name: string, members: readonly SshPlace[]): LabChild =>
    startDaemon({
      directory,
      name,
      port,
      authorizedKeys,
      hostKey: join(directory, `${name}.key`),
      places: members,
      mounts: options.mounts,
    });
  const groupOf = (index: number): Group => {
    const group = groups.find((each) => each.places.includes(places[index]!));
    if (!group) throw new Error(`No sshd serves place ${index}.`);
    return group;
  };
  const severGroup = ({ daemon }: Group): void => {
    for (const pid of descendants(daemon.process.pid ?? 0)) kill(pid);
  };
  const endGroup = async (group: Group): Promise<void> => {
    severGroup(group);
    await group.daemon.stop();
  };
  const stop = async (): Promise<void> => {
    for (const server of silent) server.close();
    for (const socket of sockets) socket.destroy();
    await Promise.all(groups.map(endGroup));
    await rm(directory, { recursive: true, force: true });
  };
  const sockets = new Set<Socket>();
  try {
    for (let first = 0; first < served.length; first += perProcess) {
      const name = `sshd${groups.length}`;
      const members = served.slice(first, first + perProcess);
      newKey(join(directory, `${name}.key`));
      groups.push({ name, places: members, daemon: launch(name, members) });
    }
    for (const index of hanging) silent.push(await listenSilently(places[index]!.address, port, sockets));
    const daemons = groups.map(({ daemon }) => daemon);
    await waitBound(
      'tcp',
      served.map(({ address }) => address),
      port,
      daemons,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    addresses,
    port,
    username: userInfo().username,
    privateKey: key.privateKey,
    privateKeyFile,
    home: (index) => places[index]!.home,
    name: (index) => places[index]!.name,
    authorize: (publicKey) => appendFileSync(authorizedKeys, `${publicKey.trim()}\n`),
    hostKey(index) {
      const [type, blob] = readFileSync(join(directory, `${groupOf(index).name}.key.pub`), 'utf8').split(' ');
      return `${type} ${blob!.trim()}`;
    },
    async changeHostKey(index) {
      const group = groupOf(index);
      await endGroup(group);
      newKey(join(directory, `${group.name}.key`));
      group.daemon = launch(group.name, group.places);
      await waitBound(
        'tcp',
        group.places.map(({ address }) => address),
        port,
        [group.daemon],
      );
    },
    connections: (index) => childrenOf(groupOf(index).daemon.process.pid!).length,
    sever: (index) => severGroup(groupOf(index)),
    stop,
  };
}

function newKey(file: string): { readonly privateKey: string; readonly publicKey: string } {
  const pair = newKeyPair('lab');
  writeFileSync(file, pair.privateKey, { mode: 0o600 });
  writeFileSync(`${file}.pub`, `${pair.publicKey}\n`);
  return pair;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

function listenSilently(address: string, port: number, sockets: Set<Socket>): Promise<Server> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => resolve(server));
  });
}
