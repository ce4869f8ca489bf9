import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { type LabChild, said, startChild } from '../lab/child.ts';
import { makeNamespace, type Namespace } from '../lab/netns.ts';

/**
 * A machine of its own for the commands of a page, as far as they can tell: its own network with nothing but loopback, and files of its
 * own: what they write is gone with the world. A server listens where the pages say, and root's commands reach it through its socket.
 */
export interface World {
  readonly server: TestServer;
  /** What runs a program inside; `remove` is not the caller's matter. */
  readonly inside: Namespace;
  /** A directory that goes with the world; commands of the page start in it. */
  readonly directory: string;
  /** Starts a program inside that runs until the world ends. */
  start(name: string, program: string, ...args: string[]): LabChild;
  /** What the commands of a page find in their environment. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** A world before its server has started. */
export type BareWorld = Pick<World, 'inside' | 'directory' | 'start'>;
type Ending = () => Promise<void>;

export interface WorldOptions {
  /** Settings of the server, as variables; what is inside may be reached at any address. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Addresses that this world's machine has besides loopback, such as 10.1.0.1/16. */
  readonly addresses?: readonly string[];
  /** What is done inside before the server starts; what it returns ends what it began, once the server has ended. */
  readonly prepare?: (world: BareWorld) => Promise<Ending | void> | Ending | void;
  /** What is done before the first command of the page. */
  readonly ready?: (world: World) => Promise<void> | void;
}

const checkout = join(import.meta.dirname, '../..');

export async function makeWorld(options: WorldOptions = {}): Promise<World> {
  // Whatever fails, all that was begun is ended, the latest first.
  const endings: (() => Promise<void> | void)[] = [];
  const endAll = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const end of endings.toReversed()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  };
  try {
    const world = await begin(options, endings, endAll);
    await options.ready?.(world);
    return world;
  } catch (error) {
    await endAll().catch(() => {
      // What went wrong first says more.
    });
    throw error;
  }
}

async function begin(
  { settings = {}, addresses = [], prepare }: WorldOptions,
  endings: (() => Promise<void> | void)[],
  stop: () => Promise<void>,
): Promise<World> {
  const directory = temporaryDirectory();
  endings.push(() => rmSync(directory, { recursive: true, force: true }));
  const network = makeNamespace();
  endings.push(() => network.remove());
  const holder = holdFiles(network, directory);
  endings.push(() => holder.stop());
  await said(holder, 'ready');
  const words = ['--target', String(holder.process.pid), '--mount', '--net', `--wdns=${directory}`];
  const inside: Namespace = {
    name: network.name,
    command: (program, ...args) => ['nsenter', ...words, program, ...args],
    run: (program, ...args) => network.run('nsenter', ...words, program, ...args),
    remove: () => network.remove(),
  };
  const start = (name: string, program: string, ...args: string[]): LabChild => {
    const [first, ...rest] = inside.command(program, ...args);
    const child = startChild(first, rest, { directory, logFile: join(directory, `${name}.log`) });
    endings.push(() => child.stop());
    return child;
  };
  if (addresses.length > 0) {
    inside.run('ip', 'link', 'add', 'cluster0', 'type', 'veth', 'peer', 'name', 'cable0');
    for (const link of ['cluster0', 'cable0']) inside.run('ip', 'link', 'set', link, 'up');
    for (const address of addresses) inside.run('ip', 'address', 'add', address, 'dev', 'cluster0');
  }
  const end = await prepare?.({ inside, directory, start });
  if (end) endings.push(end);
  const data = join(directory, 'muster');
  mkdirSync(data);
  const server = await startServer({
    data,
    namespace: inside,
    listen: ['127.0.0.1:8443'],
    environment: {
      MUSTER_HARDWARE_NETWORKS: '127.0.0.0/8,10.0.0.0/8',
      MUSTER_REMOTE_NETWORKS: '127.0.0.0/8,10.0.0.0/8',
      MUSTER_HOSTS_FILE: '/etc/hosts',
      MUSTER_NEW_DATABASE: 'usual',
      ...settings,
    },
  });
  endings.push(() => server.stop());
  return {
    server,
    inside,
    directory,
    start,
    environment: {
      PATH: `${join(import.meta.dirname, 'bin')}:${process.env['PATH']}`,
      HOME: '/root',
      MUSTER_CHECKOUT: checkout,
      MUSTER_DATA: data,
      H: 'https://localhost:8443/muster',
      A: `X-Auth-Token: ${server.token}`,
      CA: `--cacert ${data}/tls/ca.pem`,
      J: 'Content-Type: application/json',
    },
    stop,
  };
}

/** A process that keeps the files of this machine as the world sees them: every write goes to memory. */
function holdFiles(network: Namespace, directory: string): LabChild {
  const script = `set -e
mount --make-rprivate /
cd ${directory}
mkdir layer root
mount -t tmpfs tmpfs layer
mkdir layer/upper layer/work
mount -t overlay overlay -o lowerdir=/,upperdir=layer/upper,workdir=layer/work root
for shared in proc sys dev; do mount --rbind /$shared root/$shared; done
mount -t tmpfs tmpfs root/run
for own in ${checkout} ${directory}; do mkdir -p root$own; mount --bind $own root$own; done
mkdir -p root/install root/before
cd root
pivot_root . before
umount -l /before
echo ready
exec sleep infinity`;
  const [program, ...args] = network.command('unshare', '--mount', 'sh', '-c', script);
  return startChild(program, args, { directory, logFile: join(directory, 'world.log') });
}
