import { lstatSync, readFileSync } from 'node:fs';
import { mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault, orFault } from '../../core/errors.ts';
import type { ProgramOptions, ProgramResult, Work } from '../../work/index.ts';
import { inTree, writeInTree } from './tree-path.ts';

interface InTree extends Omit<ProgramOptions, 'cwd'> {
  readonly tree: string;
  /** Programs of this machine that work on the tree from outside, such as dnf, stay outside; others see the tree as their root. */
  readonly outside?: boolean;
  /** Directories of this machine, readable at /run/muster/0, /run/muster/1 and so on. */
  readonly binds?: readonly string[];
}

/** What no package script and no program of an image needs. */
const withoutRights = [
  'audit_control',
  'audit_read',
  'block_suspend',
  'bpf',
  'mac_admin',
  'mac_override',
  'net_admin',
  'perfmon',
  'sys_boot',
  'sys_module',
  'sys_pacct',
  'sys_rawio',
  'sys_time',
  'syslog',
  'wake_alarm',
];

// What differs comes as arguments, so that no text of anybody is ever read as a command.
const entering = `set -eu
tree=$1 outside=$2 rights=$3 binds=$4
shift 4
mount --make-rprivate /
for d in proc sys dev run tmp; do
  if [ -L "$tree/$d" ]; then echo "/$d in the image is a symbolic link." >&2; exit 125; fi
  [ -d "$tree/$d" ] || mkdir -m 755 "$tree/$d"
done
mount -t proc -o nosuid,nodev,noexec proc "$tree/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$tree/sys" || mount -t tmpfs -o ro tmpfs "$tree/sys"
mount -t tmpfs -o mode=755,nosuid tmpfs "$tree/dev"
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$tree/run"
mknod -m 666 "$tree/dev/null" c 1 3
mknod -m 666 "$tree/dev/zero" c 1 5
mknod -m 666 "$tree/dev/full" c 1 7
mknod -m 666 "$tree/dev/random" c 1 8
mknod -m 666 "$tree/dev/urandom" c 1 9
mknod -m 666 "$tree/dev/tty" c 5 0
mkdir -m 1777 "$tree/dev/shm"
ln -s /proc/self/fd "$tree/dev/fd"
ln -s fd/0 "$tree/dev/stdin"
ln -s fd/1 "$tree/dev/stdout"
ln -s fd/2 "$tree/dev/stderr"
i=0
while [ "$i" -lt "$binds" ]; do
  mkdir -p "$tree/run/muster/$i"
  mount --bind "$1" "$tree/run/muster/$i"
  mount -o remount,bind,ro "$tree/run/muster/$i"
  shift
  i=$((i + 1))
done
if [ "$outside" = yes ]; then exec setpriv --bounding-set "$rights" -- "$@"; fi
exec setpriv --bounding-set "$rights" -- chroot "$tree" "$@"`;

/**
 * Runs a program in a tree, or on it, with process numbers, mounts, host name and, unless it may use it, a network of its own. When it
 * ends, whatever it left running is ended too.
 */
export async function inNamespaces(task: Work, words: readonly string[], options: InTree): Promise<ProgramResult> {
  const { tree, outside = false, binds = [], ...rest } = options;
  const rights = withoutRights.map((name) => `-${name}`).join(',');
  const before = [tree, outside ? 'yes' : 'no', rights, String(binds.length), ...binds];
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--uts', '--ipc'];
  const run = (): Promise<ProgramResult> =>
    started(task, 'unshare', [...namespaces, '--', 'sh', '-c', entering, 'sh', ...before, ...words], rest, words[0]!);
  return options.network && !outside ? withResolver(tree, run) : run();
}

/** Runs a program by way of another; what fails is the program, not how it was brought there. */
async function started(
  task: Work,
  starter: string,
  args: readonly string[],
  options: ProgramOptions,
  program: string,
): Promise<ProgramResult> {
  try {
    return await task.program(starter, args, options);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const named = (sentence: string): string =>
      sentence.startsWith(`${starter} ended `) ? program + sentence.slice(starter.length) : sentence;
    throw new Fault(error.kind, error.sentences.map(named));
  }
}

/** Names are looked up as this machine does, for the time of the work. */
async function withResolver<T>(tree: string, work: () => Promise<T>): Promise<T> {
  const path = '/etc/resolv.conf';
  if (!lstatSync(inTree(tree, '/etc'), { throwIfNoEntry: false })?.isDirectory())
    throw new Fault('invalid', 'The image has no directory /etc.');
  const place = inTree(tree, path, { follow: false });
  const before = lstatSync(place, { throwIfNoEntry: false });
  if (before?.isFile()) {
    const content = readFileSync(place);
    await writeInTree(tree, path, readFileSync('/etc/resolv.conf'), { mode: 0o644 });
    const result = await work();
    const { mode, uid, gid } = before;
    await writeInTree(tree, path, content, { mode: mode & 0o7777, uid, gid, time: before.mtimeMs / 1_000 });
    return result;
  }
  const link = before?.isSymbolicLink() ? await readlink(place) : undefined;
  await rm(place, { force: true });
  await writeInTree(tree, path, readFileSync('/etc/resolv.conf'), { mode: 0o644 });
  const result = await work();
  // The program may have made a link of /etc, which from outside would lead to that of this machine.
  const after = inTree(tree, path, { follow: false });
  await rm(after, { force: true });
  if (link !== undefined) await symlink(link, after);
  return result;
}

// Its users are those of this machine, so files have their owners; only a process outside can say so, before it begins.
const enteringAsUser = `set -eu
users=$1 groups=$2 gate=$3
shift 3
mkfifo -m 600 "$gate"
unshare --user --mount --pid --fork --kill-child --mount-proc -- sh -c 'read -r _ < "$1"; shift; exec "$@"' sh "$gate" "$@" &
pid=$!
own=$(readlink /proc/self/ns/user)
while [ "$(readlink "/proc/$pid/ns/user")" = "$own" ]; do sleep 0.02; done
printf '%s\\n' "$users" > "/proc/$pid/uid_map"
printf '%s\\n' "$groups" > "/proc/$pid/gid_map"
echo > "$gate"
wait "$pid"`;

/**
 * Runs a program of this machine as root of a user namespace of its own: it may give files to anybody and mount what it likes, but has no
 * rights over devices, the kernel and its modules, or other processes. `scratch` is a directory for what is needed meanwhile.
 */
export async function inUserNamespace(
  task: Work,
  scratch: string,
  words: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const gate = join(await mkdtemp(join(scratch, 'gate-')), 'gate');
  const args = ['-c', enteringAsUser, 'sh', sameIds('uid'), sameIds('gid'), gate, ...words];
  return started(task, 'sh', args, options, words[0]!);
}

/** Whether such namespaces can be made here; only trying shows. */
export async function hasUserNamespaces(task: Work, scratch: string): Promise<boolean> {
  const tried = await orFault(inUserNamespace(task, scratch, ['true'], { output: () => undefined }));
  return !('sentences' in tried);
}

/** All that there are, each as itself. */
const sameIds = (kind: 'uid' | 'gid'): string =>
  readFileSync(`/proc/self/${kind}_map`, 'latin1')
    .trim()
    .split('\n')
    .map((line) => {
      const [first, , count] = line.trim().split(/ +/);
      return `${first} ${first} ${count}`;
    })
    .join('\n');
