import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import type { PackJob } from '../../src/images/pack/pack-job.ts';
import { writeManifest } from '../../src/images/manifest.ts';
import { directWork, type DirectWork } from '../harness/work.ts';

/** A directory that is gone after the test. */
export function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), 'muster-image-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** What the work is refused with. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** Long work in this process, whose stagings go after each call as a run's do. */
export async function during<T>(use: (task: DirectWork) => Promise<T>, task = directWork()): Promise<T> {
  try {
    return await use(task);
  } finally {
    task.end();
  }
}

export const packJob = (directory: string): PackJob => ({
  image: 'img',
  osvers: 'debian12',
  osarch: 'x86_64',
  profile: 'compute',
  directory,
  by: 'root',
  method: 'squashfs',
  compress: 'zstd',
  exclusions: { out: [], kept: [] },
  password: '$6$salt$hash',
  key: 'ssh-ed25519 AAAA muster',
  sync: [],
  ifChanged: false,
  lists: [],
  ramdisk: join(directory, '../../../../ramdisk'),
  toDisk: false,
  kept: 3,
});

/** A tree as gen leaves it, of a few files. */
export function smallImage(top = temporary(), image = 'img', profile = 'compute'): string {
  const directory = join(top, 'netboot/debian12/x86_64', profile);
  const tree = join(directory, 'rootimg');
  for (const name of [
    'bin',
    'etc/ssh',
    'root',
    'usr/share/doc/x',
    'usr/share/locale/en',
    'usr/share/locale/de',
    'var/lib/dpkg',
  ])
    mkdirSync(join(tree, name), { recursive: true });
  const files = {
    'bin/tool': 'tool',
    'etc/shadow': 'daemon:*:1:0:99999:7:::\nroot:*:1:0:99999:7:::\n',
    'etc/machine-id': '0123456789abcdef0123456789abcdef\n',
    'etc/ssh/ssh_host_ed25519_key': 'secret',
    'usr/share/doc/x/copyright': 'c',
    'usr/share/locale/en/a.mo': 'en',
    'usr/share/locale/de/a.mo': 'de',
    'var/lib/dpkg/status': 'Package: tool\nStatus: install ok installed\nVersion: 1-2\nArchitecture: all\n\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(tree, name), text);
  linkSync(join(tree, 'bin/tool'), join(tree, 'bin/other'));
  chmodSync(join(tree, 'bin/tool'), 0o4755);
  symlinkSync('tool', join(tree, 'bin/link'));
  writeFileSync(join(directory, 'kernel'), 'kernel 1');
  writeFileSync(join(directory, 'initrd-stateless.gz'), 'initrd 1');
  const made = { when: '2026-01-02T03:04:05.000Z', by: 'root', run: 'r' };
  writeManifest(directory, {
    image,
    osvers: 'debian12',
    osarch: 'x86_64',
    profile,
    made,
    source: { kind: 'packages', lists: [] },
    packages: [{ name: 'tool', version: '1-2', arch: 'all' }],
    runs: [],
    kernel: '6.1',
    files: ['kernel', 'initrd-stateless.gz'],
    packs: [],
  });
  return directory;
}

/** Every path below a directory, with what tells whether it has changed. */
export function listing(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const stats = lstatSync(join(directory, name));
      return `${name} ${stats.mode.toString(8)} ${stats.isDirectory() ? '' : stats.size} ${stats.mtimeMs}`;
    });
}
