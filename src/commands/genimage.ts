import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import type { GenMade } from '../services/images/build/gen.ts';
import type { GenJob } from '../services/images/build/gen-job.ts';
import { planGen } from '../services/images/build/plan-gen.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const args = Type.Object({
  ...imageArgument,
  anew: Type.Optional(Type.Boolean({ description: 'builds the tree from the beginning, also if nothing has changed' })),
});

export const genimage = long({
  name: 'genimage',
  args,
  uses: ['images'],
  line: ({ image, anew }) => [...(anew ? ['--anew'] : []), image],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, anew = false }, { images, caller }): Promise<GenJob> =>
    planGen(snapshot, images, image, { by: caller.user, anew }),
  module: programFile('services/images/build/gen'),
  answer: ({ did, packages }: GenMade) => ({ shape: 'none', messages: [`${did}, ${packages} packages`] }),
});
