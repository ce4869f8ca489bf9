import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { hasEnded, startChild } from './child.ts';
import { bootSector } from './libvirt/guest.ts';
import type { Namespace } from './netns.ts';

/**
 * A hypervisor of its own inside this machine: libvirtd with the directories that it knows by name replaced by others, and without a
 * network. Its machines are QEMU's, emulated, and end with it. Needs root.
 */
export interface LibvirtLab {
  readonly directory: string;
  /** The path here of the daemon's socket. */
  readonly socket: string;
  /** A path that is the same here and there, for disks. */
  readonly images: string;
  /** A disk to boot from: the machine switches itself off when its power button is pressed. */
  readonly bootDisk: string;
  /** A process in all its namespaces. */
  process(): Promise<string>;
  readonly address: string | undefined;
  /** What virsh prints; an error with what it says when it fails. */
  virsh(...words: string[]): Promise<string>;
  /** Stops a machine's emulator, so that it answers nobody, until what is returned is called. */
  freeze(machine: string): Promise<() => Promise<void>>;
  /** What the daemon is doing with a machine that runs, such as `snapshot` or `perform3`, though its emulator may not answer. */
  jobOf(machine: string): string | undefined;
  /** Runs a program where the daemon is, with its files and its network; what it prints. */
  inside(...command: string[]): Promise<string>;
  /** Kills the daemon; its machines go on. Another is started. */
  killDaemon(): Promise<void>;
  stop(): Promise<void>;
}

const run = promisify(execFile);

export interface LibvirtOptions {
  /** That of its network, once `connectLibvirts` has given it one. */
  readonly address?: string;
  /** Where it takes TLS as well, with certificates of that directory. It is in the network of this machine then. */
  readonly tls?: { readonly address: string; readonly certificates: string };
  /** What it says its own UUID is; absent: a new one. */
  readonly hostUuid?: string;
  /** The network that it is in, where that is not one of its own. */
  readonly namespace?: Namespace;
  /** What its directory is made in; absent: that for temporary files. */
  readonly parent?: string;
}

const tlsConfiguration = ({ address, certificates }: NonNullable<LibvirtOptions['tls']>): string => `listen_tls = 1
listen_addr = "${address}"
ca_file = "${join(certificates, 'cacert.pem')}"
cert_file = "${join(certificates, 'servercert.pem')}"
key_file = "${join(certificates, 'serverkey.pem')}"
`;

const daemonConfiguration = ({
  tls,
  hostUuid = randomUUID(),
}: LibvirtOptions): string => `${tls ? tlsConfiguration(tls) : 'listen_tls = 0\n'}auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
host_uuid = "${hostUuid}"
log_outputs = "3:stderr"
`;

/** What confines machines needs more of the system than tests have. */
const emulatorConfiguration = (address: string | undefined): string => `user = "root"
group = "root"
security_driver = "none"
namespaces = []
cgroup_controllers = []
remember_owner = 0
stdio_handler = "file"
${address === undefined ? '' : `migration_host = "${address}"\n`}`;

/** The directories that libvirt knows by name, and what stands in for each. */
const places = {
  etc: '/etc/libvirt',
  lib: '/var/lib/libvirt',
  log: '/var/log/libvirt',
  cache: '/var/cache/libvirt',
  run: '/run',
} as const;

const init = `set -e
hostname "$(basename "$1")"
for place in ${Object.entries(places)
  .map(([name, path]) => `${name}:${path}`)
  .join(' ')}; do mount --bind "$1/\${place%%:*}" "\${place#*:}"; done
while :; do libvirtd $2 --config /etc/libvirt/libvirtd.conf --pid-file /run/libvirtd.pid || :; sleep 0.2; done
`;

export async function startLibvirt(options: LibvirtOptions = {}): Promise<LibvirtLab> {
  const directory = await mkdtemp(join(options.parent ?? tmpdir(), 'muster-libvirt-'));
  const file = (...names: string[]): string => join(directory, ...names);
  await Promise.all([...Object.keys(places), 'images'].map((name) => mkdir(file(name))));
  // Where the daemon notes which consoles are open.
  await mkdir(file('run', 'lock'));
  await Promise.all([
    writeFile(file('etc', 'libvirtd.conf'), daemonConfiguration(options)),
    writeFile(file('etc', 'qemu.conf'), emulatorConfiguration(options.address)),
    writeFile(file('init'), init),
    writeFile(file('images', 'boot.img'), bootSector()),
  ]);
  // A process namespace, so that machines end with the lab; libvirt lets them outlive its daemon.
  const hasOwnNetwork = !options.tls && !options.namespace;
  const namespaces = ['--mount', '--uts', '--pid', ...(hasOwnNetwork ? ['--net'] : [])];
  const apart = [...namespaces, '--fork', '--kill-child=KILL', '--mount-proc'];
  // unshare does not end when it is asked to.
  const apartFromUs = [
    '--pdeathsig',
    'KILL',
    'unshare',
    ...apart,
    'bash',
    file('init'),
    directory,
    options.tls ? '--listen' : '',
  ];
  const [program, ...args] =
    options.namespace?.command('setpriv', ...apartFromUs) ?? (['setpriv', ...apartFromUs] as const);
  const child = startChild(program, args, { directory, logFile: file('out') });
  const socket = file('run', 'libvirt', 'libvirt-sock');
  const virsh = async (...words: string[]): Promise<string> => {
    const { stdout } = await run('virsh', ['-q', '-c', `qemu+unix:///system?socket=${socket}`, ...words]);
    return stdout.trim();
  };
  const stop = async (): Promise<void> => {
    child.process.kill('SIGKILL');
    await child.stop();
    await rm(directory, { recursive: true, force: true });
  };
  const answers = (): Promise<boolean> =>
    virsh('list').then(
      () => true,
      () => false,
    );
  const ready = async (): Promise<void> => {
    while (!existsSync(socket) || !(await answers())) {
      if (hasEnded(child)) throw new Error(`The libvirt lab has ended: ${child.log()}`);
      await pause(50);
    }
  };
  const signal = async (name: string, pidFile: string): Promise<void> => {
    const pid = await readFile(pidFile, 'utf8');
    await run('nsenter', ['-t', await innerProcess(child.process.pid!), '-p', 'kill', `-${name}`, pid.trim()]);
  };
  try {
    await ready();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    directory,
    socket,
    images: file('images'),
    bootDisk: file('images', 'boot.img'),
    virsh,
    address: options.address,
    process: () => innerProcess(child.process.pid!),
    async freeze(machine) {
      const pid = file('run', 'libvirt', 'qemu', `${machine}.pid`);
      await signal('STOP', pid);
      return () => signal('CONT', pid);
    },
    jobOf(machine) {
      const status = readFileSync(file('run', 'libvirt', 'qemu', `${machine}.xml`), 'utf8');
      return /<job [^>]*async='(?<job>[^']*)'(?: phase='(?<phase>\w+)')?/.exec(status)?.slice(1).findLast(Boolean);
    },
    async inside(...command) {
      const inner = await innerProcess(child.process.pid!);
      const { stdout } = await run('nsenter', ['-t', inner, '-m', '-n', '-p', ...command]);
      return stdout.trim();
    },
    async killDaemon() {
      await signal('KILL', file('run', 'libvirtd.pid'));
      await ready();
    },
    stop,
  };
}

/** A cable between two of them, which were given addresses of one network. */
export async function connectLibvirts(a: LibvirtLab, b: LibvirtLab): Promise<void> {
  const ends = await Promise.all([a, b].map(async (lab) => ({ lab, pid: await lab.process() })));
  const [one, other] = ends.map(({ pid }) => `lv${pid}`);
  await run('ip', ['link', 'add', one!, 'type', 'veth', 'peer', 'name', other!]);
  for (const { lab, pid } of ends) {
    await run('ip', ['link', 'set', `lv${pid}`, 'netns', pid, 'name', 'cable']);
    const inside = (...words: string[]) => run('nsenter', ['-t', pid, '-n', 'ip', ...words]);
    await inside('address', 'add', `${lab.address}/24`, 'dev', 'cable');
    for (const each of ['lo', 'cable']) await inside('link', 'set', each, 'up');
  }
}

/** The first process of the namespace that unshare has made. */
async function innerProcess(unshare: number): Promise<string> {
  return (await readFile(`/proc/${unshare}/task/${unshare}/children`, 'utf8')).trim();
}
