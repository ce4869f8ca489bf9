import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { orFault } from '../../../core/errors.ts';
import { started } from './in-namespaces.ts';
import type { ProgramOptions, ProgramResult, Work } from '../../long-work/work.ts';

// Its users are those of this machine, so files have their owners; only a process outside can say so, before it begins.
const entering = `set -eu
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
  const args = ['-c', entering, 'sh', sameIds('uid'), sameIds('gid'), gate, ...words];
  return started(task, 'sh', args, options, words[0]!);
}

/** Whether such namespaces can be made here; only trying tells. */
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
