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

export const genimage = long<typeof args, GenJob, GenMade>({
  name: 'genimage',
  args,
  line: ({ image, anew }) => [...(anew ? ['--anew'] : []), image],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, anew = false }, { images, caller }) =>
    planGen(snapshot, images, image, { by: caller.user, anew }),
  module: programFile('services/images/build/gen'),
  answer: ({ did, packages }) => ({ shape: 'none', messages: [`${did}, ${packages} packages`] }),
});
