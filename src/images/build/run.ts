import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { exchange } from '../../core/exchange.ts';
import { syncFileSystem } from '../../core/sync-file-system.ts';
import type { Work } from '../../work/index.ts';
import { actNow, type ImageJob, stagingFor, explainingDisk } from '../image-job.ts';
import { readManifestOf, replaceParts } from '../manifest.ts';
import { changedCopy } from '../tree/changed-copy.ts';
import { placeForTree, privateTree } from '../tree/private-tree.ts';
import { inNamespaces } from '../tree/in-namespaces.ts';
import { installedIn } from '../tree/installed.ts';
import { checkRunnable } from '../../objects/distributions.ts';

export interface RunJob extends ImageJob {
  readonly command: readonly string[];
  readonly network: boolean;
}

export interface RunMade {
  readonly lines: readonly string[];
}

/** Lines of output that the answer holds; whoever watches sees all. */
const keptLines = 1_000;

/**
 * Runs a program in an image's tree. It works on a copy, which takes the tree's place if the program ends well; else nothing has
 * changed.
 */
export const work = (job: RunJob, task: Work): Promise<RunMade> =>
  explainingDisk(`Nothing can be run in the image ${job.image}`, job.directory, async () => {
    const { image, directory, command, osarch, network } = job;
    const manifest = await readManifestOf(image, directory);
    const tree = manifest && (await privateTree(directory, task.tell));
    if (!tree)
      throw new Fault(
        'invalid',
        `The image ${image} has no tree in ${directory} that muster made; build it first: POST /osimages/${image}/instance {"action":"gen"}.`,
      );
    checkRunnable(osarch);
    const staging = await stagingFor(directory, task);
    const made = join(staging, 'image');
    mkdirSync(made, { mode: 0o755 });
    const copy = placeForTree(made);
    const lines: string[] = [];
    const output = (line: string): void => {
      task.tell(line);
      if (lines.length < keptLines) lines.push(line);
    };
    await changedCopy(task, { tree, staging, copy }, async (root) => {
      await inNamespaces(task, command, { tree: root, network, env: { HOME: '/root', TERM: 'dumb' }, output });
    });
    const packages = await installedIn(task, copy);
    await syncFileSystem(copy);
    task.signal.throwIfAborted();
    const runs = [...manifest.runs, { command: [...command], made: actNow(job, task) }];
    const after = { ...manifest, packages, runs };
    await replaceParts({ staging, directory }, { before: manifest, after }, () => exchange(copy, tree));
    return { lines };
  });
