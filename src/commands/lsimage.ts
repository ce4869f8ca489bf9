import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { describeImage } from '../services/images/describe-image.ts';
import { readManifestOf } from '../services/images/manifest.ts';
import { query } from './command.ts';
import { imageArgument, selectImage } from './image.ts';

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
