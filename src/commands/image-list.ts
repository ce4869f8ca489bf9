import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { inSlices } from '../core/slices.ts';
import { programFile } from '../core/home.ts';
import {
  describeDiskless,
  describeImage,
  type ImageJob,
  type Pack,
  readManifestOf,
  type Removed,
} from '../images/index.ts';
import { checkUnused } from '../boot/index.ts';
import { query } from './command.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

/** What is built and packed of an image. */
export const lsimage = query({
  name: 'lsimage',
  args: Type.Object(imageArgument),
  uses: ['images'],
  line: ({ image }) => [image],
  select: selectImage,
  async run(snapshot, { image }, { images, caller }) {
    const { directory } = describeImage(snapshot, images, image, caller.user).job;
    const manifest = await readManifestOf(image, directory);
    if (!manifest)
      throw new Fault('unknown-object', `Nothing of the image ${image} is built or packed in ${directory}.`);
    const { source, packs, ...rest } = manifest;
    const { kind, lists, reference } = source;
    return {
      shape: 'value',
      value: {
        directory,
        ...rest,
        packs: packs.map(shown),
        source: { kind, lists, ...(reference === undefined ? {} : { reference }) },
      },
    };
  },
});

/** What a pack was made from is a sum that says nothing to people. */
function shown(pack: Pack): Omit<Pack, 'inputs'> {
  const { inputs: _, ...rest } = pack;
  return rest;
}

const args = Type.Object({
  ...imageArgument,
  force: Type.Optional(Type.Boolean({ description: 'also if nodes are set to it' })),
});

export const rmimage = long({
  name: 'rmimage',
  args,
  uses: ['images'],
  line: ({ image, force }) => [...(force ? ['--force'] : []), image],
  select: selectImage,
  subject: imageSubject,
  async prepare(snapshot, { image, force }, { images, caller, ranges }): Promise<ImageJob> {
    await inSlices(checkUnused(() => snapshot, [image], { force, sees: ranges.sees }));
    return describeDiskless(snapshot, images, image, caller.user).job;
  },
  module: programFile('images/removal'),
  answer: ({ removed, left }: Removed) => ({
    shape: 'none',
    messages: [`removed: ${removed.join(', ')}`, ...(left.length > 0 ? [`left: ${left.join(', ')}`] : [])],
  }),
});
