import { execFileSync } from 'node:child_process';
import { copyFileSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { hostArchitecture } from '../../src/objects/distributions.ts';
import { hashOf } from '../../src/images/build/fingerprint.ts';
import { work as exportImage } from '../../src/images/bundles/export.ts';
import { work as pull } from '../../src/images/containers/pull.ts';
import type { PullJob } from '../../src/images/containers/pull-job.ts';
import { manifestFile } from '../../src/images/manifest.ts';
import { work as pack } from '../../src/images/pack/pack.ts';
import type { WorkModule } from '../../src/work/messages.ts';
import { writeLayout } from '../lab/oci/layout.ts';
import { file } from '../lab/oci/tar.ts';
import { during, packJob, smallImage, temporary } from './small-image.ts';

/** One kind of work on an image, which tests interrupt wherever it can be. */
export interface Step {
  readonly name: string;
  readonly module: string;
  /** Whether an image is defined of what it made. */
  readonly defines?: boolean;
  /** Makes below `top` what the work needs; its job. */
  prepare(top: string): Promise<unknown>;
}

const jobOf = (directory: string) => ({ ...packJob(directory), osarch: hostArchitecture() });

/** An image whose tree was packed, and changed since. */
async function packed(top: string): Promise<string> {
  const directory = smallImage(top);
  copyFileSync('/bin/busybox', join(directory, 'rootimg/bin/busybox'));
  await during((task) => pack(jobOf(directory), task));
  writeFileSync(join(directory, 'rootimg/etc/changed'), 'changed\n');
  return directory;
}

const exportJob = (directory: string, top: string) => ({
  ...jobOf(directory),
  attributes: { osvers: 'debian12', osarch: hostArchitecture(), profile: 'other', pkglist: '/list' },
  files: [{ attribute: 'pkglist', path: join(top, 'list') }],
  packed: true,
  destination: join(top, 'export/img.tgz'),
});

/** A container whose files hold the words. */
function container(top: string, words: string): PullJob {
  rmSync(join(top, 'container'), { recursive: true, force: true });
  writeLayout(join(top, 'container'), [
    [file('etc/os-release', 'ID=debian\nVERSION_ID=12\n'), file('etc/words', words)],
    [file('usr/lib/modules/6.1/modules.dep', ''), file('boot/vmlinuz-6.1', words)],
  ]);
  return {
    image: 'web',
    by: 'root',
    from: { kind: 'file', path: join(top, 'container') },
    osarch: hostArchitecture(),
    profile: 'web',
    installDirectory: top,
    anew: false,
    blobs: join(top, 'blobs'),
    directories: [],
    limits: { bytes: 64 << 20, entries: 10_000 },
  };
}

const moduleOf = (path: string): string => new URL(`../../src/images/${path}`, import.meta.url).href;

export const steps: readonly Step[] = [
  { name: 'pack', module: moduleOf('pack/pack.ts'), prepare: async (top) => jobOf(await packed(top)) },
  {
    name: 'pack of a tree that was there before muster',
    module: moduleOf('pack/pack.ts'),
    async prepare(top) {
      const directory = smallImage(top);
      rmSync(join(directory, manifestFile));
      return jobOf(directory);
    },
  },
  {
    name: 'export',
    module: moduleOf('bundles/export.ts'),
    async prepare(top) {
      writeFileSync(join(top, 'list'), 'tool\n');
      return exportJob(await packed(top), top);
    },
  },
  {
    name: 'import',
    module: moduleOf('bundles/import.ts'),
    defines: true,
    async prepare(top) {
      writeFileSync(join(top, 'list'), 'tool\n');
      const { file: bundle } = await during(async (task) => exportImage(exportJob(await packed(top), top), task));
      const known = ['osvers', 'osarch', 'profile', 'pkglist'];
      return {
        file: bundle,
        installDirectory: top,
        osarch: hostArchitecture(),
        name: 'two',
        taken: [],
        known,
        by: 'root',
      };
    },
  },
  {
    name: 'rollback',
    module: moduleOf('pack/rollback.ts'),
    async prepare(top) {
      const job = jobOf(await packed(top));
      await during((task) => pack({ ...job, method: 'cpio', compress: 'gzip' }, task));
      return job;
    },
  },
  { name: 'removal', module: moduleOf('removal.ts'), prepare: async (top) => jobOf(await packed(top)) },
  {
    name: 'removal beside files of others',
    module: moduleOf('removal.ts'),
    async prepare(top) {
      const directory = await packed(top);
      writeFileSync(join(directory, 'notes'), 'mine');
      return jobOf(directory);
    },
  },
  {
    name: 'run',
    module: moduleOf('build/run.ts'),
    prepare: async (top) => ({
      ...jobOf(await packed(top)),
      command: ['/bin/busybox', 'cp', '/bin/busybox', '/etc/mended'],
      network: false,
    }),
  },
  {
    name: 'a container',
    module: moduleOf('containers/pull.ts'),
    defines: true,
    prepare: async (top) => container(top, 'one'),
  },
  {
    name: 'a container that changed',
    module: moduleOf('containers/pull.ts'),
    async prepare(top) {
      await during((task) => pull(container(top, 'one'), task));
      return { ...container(top, 'two'), directory: join(top, 'netboot/debian12', hostArchitecture(), 'web') };
    },
  },
];

export const workOf = async ({ module }: Step): Promise<WorkModule<unknown, unknown>['work']> =>
  ((await import(module)) as WorkModule<unknown, unknown>).work;

const ephemeral = /(^|\/)\.muster-|^filler$/;
/** Trees are found under their usual names too. */
const elsewhere = /(^|\/)\.private(\/|$)/;

/** All files below a directory with what is in them; of manifests only what does not depend on the time. */
export function contents(top: string): Record<string, string> {
  const names = readdirSync(top, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !ephemeral.test(name) && !elsewhere.test(name),
  );
  return Object.fromEntries(
    names.sort().map((name) => {
      const path = join(top, name);
      const status = lstatSync(path);
      if (status.isDirectory() || name.endsWith('/rootimg')) return [name, 'directory'];
      if (!status.isFile()) return [name, 'link'];
      const text = readFileSync(path);
      return [name, name.endsWith(manifestFile) ? timeless(text.toString()) : hashOf(text.toString('latin1'))];
    }),
  );
}

function timeless(manifest: string): string {
  const { current, packs, files, runs, source } = JSON.parse(manifest);
  const ids = packs.map(({ id }: { id: string }) => id);
  return JSON.stringify({ current, ids, files, runs: runs.length, source });
}

/** A file system in memory of so many megabytes, until the test has ended. */
export function inMemory(megabytes: number): string {
  const top = temporary();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', top]);
  // A thread that is ended in the middle of a read leaves its file open.
  onTestFinished(() => void execFileSync('umount', ['--lazy', top]));
  return top;
}

export function removeStagings(top: string): void {
  const stagings = readdirSync(top, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(^|\/)\.muster-[^/]+$/.test(name),
  );
  for (const name of stagings) rmSync(join(top, name), { recursive: true, force: true });
}
