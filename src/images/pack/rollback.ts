import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import { type ImageJob, stagingFor, explainingDisk } from '../image-job.ts';
import { type Pack, readManifestOf } from '../manifest.ts';
import { hashFile } from '../build/fingerprint.ts';
import { missingPack, packDirectory, packNamed, usePack } from './kept-packs.ts';

export interface RollbackJob extends ImageJob {
  /** Which pack is put back, by id or tag; undefined: the one before the one in use. */
  readonly pack?: string;
}

/** Puts an older pack of an image back in use. */
export const work = (job: RollbackJob, task: Work): Promise<Pack> =>
  explainingDisk(`The image ${job.image} cannot be rolled back`, job.directory, async () => {
    const { image, directory } = job;
    const manifest = await readManifestOf(image, directory);
    const packs = manifest?.packs ?? [];
    const pack =
      job.pack === undefined
        ? packs[packs.findIndex(({ id }) => id === manifest?.current) + 1]
        : packNamed(packs, job.pack);
    if (!manifest || !pack) throw missingPack(image, packs, job.pack);
    const from = packDirectory(directory, pack);
    for (const { file, sha256 } of pack.parts) {
      if ((await hashFile(join(from, file))) !== sha256)
        throw new Fault(
          'invalid',
          `The pack ${pack.id} is damaged: ${file} is missing or not what its checksum says. Pack the image again.`,
        );
      task.signal.throwIfAborted();
    }
    const staging = await stagingFor(directory, task, { movesOnly: true });
    await usePack(directory, staging, manifest, pack, { from });
    task.tell(`The pack ${pack.id} of ${pack.made.when} is in use again.`);
    return pack;
  });
