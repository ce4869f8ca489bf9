import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Work } from '../work/index.ts';
import { commit } from './build/gen.ts';
import { makeInitramfs } from './build/initramfs.ts';
import type { Kernel } from './build/kernel.ts';
import { actNow, type ImageJob } from './image-job.ts';
import type { Manifest } from './manifest.ts';
import { installedIn } from './tree/installed.ts';

/** A tree that came from elsewhere, with what belongs beside it. */
interface FinishedTree {
  /** The directory that becomes the image's. */
  readonly made: string;
  readonly tree: string;
  /** Undefined: it has none, and cannot boot yet. */
  readonly kernel: Kernel | undefined;
  readonly before: Manifest | undefined;
  readonly source: Manifest['source'];
  readonly netdrivers?: readonly string[];
}

/** Gives a finished tree its kernel, initial RAM disk and manifest, and puts it in its place. */
export async function placeTree(job: ImageJob, task: Work, finished: FinishedTree): Promise<Manifest> {
  const { image, osvers, osarch, profile, directory } = job;
  const { made, tree, kernel, before, source, netdrivers = [] } = finished;
  const packages = await installedIn(task, tree);
  const files: string[] = [];
  if (kernel) {
    copyFileSync(kernel.file, join(made, 'kernel'));
    chmodSync(join(made, 'kernel'), 0o644);
    await makeInitramfs(task, { osarch, netdrivers, drivers: [] }, tree, kernel, join(made, 'initrd-stateless.gz'));
    files.push('kernel', 'initrd-stateless.gz');
  }
  task.signal.throwIfAborted();
  const manifest: Manifest = {
    image,
    osvers,
    osarch,
    profile,
    made: actNow(job, task),
    source,
    packages,
    runs: [],
    ...(kernel ? { kernel: kernel.version } : {}),
    files,
    packs: before?.packs ?? [],
    ...(before?.current === undefined ? {} : { current: before.current }),
  };
  await commit(directory, made, manifest, before);
  return manifest;
}
