import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { describeImage } from '../services/images/describe-image.ts';
import type { Pack } from '../services/images/manifest.ts';
import type { RollbackJob } from '../services/images/pack/rollback.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const args = Type.Object({
  ...imageArgument,
  pack: Type.Optional(Type.String({ description: 'which pack; absent: the one before the one in use' })),
});

/** A part of packimage for policies: whoever may put a pack to use may put an older one back. */
export const rollbackimage = long({
  name: 'packimage',
  args,
  uses: ['images'],
  line: ({ image, pack }) => ['--rollback', ...(pack === undefined ? [] : [pack]), image],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, pack }, { images, caller }): RollbackJob => ({
    ...describeImage(snapshot, images, image, caller.user).job,
    ...(pack === undefined ? {} : { pack }),
  }),
  module: programFile('services/images/pack/rollback'),
  answer: ({ id, made }: Pack) => ({ shape: 'none', messages: [`pack ${id} of ${made.when}`] }),
});
