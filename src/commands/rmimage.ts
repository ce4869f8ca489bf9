import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { describeImage } from '../services/images/describe-image.ts';
import type { ImageJob } from '../services/images/image-job.ts';
import type { Removed } from '../services/images/removal.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

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
  module: programFile('services/images/removal'),
  answer: ({ removed, left }: Removed) => ({
    shape: 'none',
    messages: [`removed: ${removed.join(', ')}`, ...(left.length > 0 ? [`left: ${left.join(', ')}`] : [])],
  }),
});
