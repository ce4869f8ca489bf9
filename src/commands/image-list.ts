import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { programFile } from '../core/home.ts';
import { describeImage, type ImageJob, readManifestOf, type Removed } from '../images/index.ts';
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
    const { source, ...rest } = manifest;
    const { kind, lists, reference } = source;
    return {
      shape: 'value',
      value: { directory, ...rest, source: { kind, lists, ...(reference === undefined ? {} : { reference }) } },
    };
  },
});

const args = Type.Object(imageArgument);

export const rmimage = long({
  name: 'rmimage',
  args,
  uses: ['images'],
  line: ({ image }) => [image],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image }, { images, caller }): ImageJob =>
    describeImage(snapshot, images, image, caller.user).job,
  module: programFile('images/removal'),
  answer: ({ removed, left }: Removed) => ({
    shape: 'none',
    messages: [`removed: ${removed.join(', ')}`, ...(left.length > 0 ? [`left: ${left.join(', ')}`] : [])],
  }),
});
