import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import { type ImageJob, stagingFor, explainingDisk } from '../image-job.ts';
import { type Pack, readManifestOf, stageManifest } from '../manifest.ts';
import { missingPack, packNamed } from './kept-packs.ts';

export interface TagJob extends ImageJob {
  readonly tag: string;
  /** Which pack gets it, by id or tag; undefined: the one in use. */
  readonly pack?: string;
  /** Whether the tag goes. */
  readonly remove: boolean;
}

/** Gives a pack of an image a tag, or takes it away. A tag is on one pack at a time, and a pack with a tag is kept. */
export const work = (job: TagJob, task: Work): Promise<Pack> =>
  explainingDisk(`The packs of the image ${job.image} cannot be tagged`, job.directory, async () => {
    const { image, directory, tag, remove } = job;
    const manifest = await readManifestOf(image, directory);
    const packs = manifest?.packs ?? [];
    const wanted = remove ? tag : (job.pack ?? manifest?.current);
    const pack = wanted === undefined ? undefined : packNamed(packs, wanted);
    if (!manifest || !pack || (remove && !pack.tags?.includes(tag))) throw missingPack(image, packs, wanted);
    if (!remove && packs.some(({ id }) => id === tag))
      throw new Fault('invalid', `${tag} is the id of a pack of the image ${image}; choose another tag.`);
    const tagged = packs.map((each) => {
      const others = (each.tags ?? []).filter((other) => other !== tag);
      const tags = each.id === pack.id && !remove ? [...others, tag] : others;
      const { tags: _, ...rest } = each;
      return tags.length === 0 ? rest : { ...rest, tags };
    });
    const staging = await stagingFor(directory, task, { movesOnly: true });
    stageManifest(staging, directory, { ...manifest, packs: tagged })();
    task.tell(`The pack ${pack.id} of ${pack.made.when} ${remove ? 'no longer has' : 'has'} the tag ${tag}.`);
    return tagged.find(({ id }) => id === pack.id)!;
  });
