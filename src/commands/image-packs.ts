import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { describeImage, type Pack, type PackJob, planPack, type RollbackJob, type TagJob } from '../images/index.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const packArguments = Type.Object({
  ...imageArgument,
  method: Type.Optional(Type.String({ description: 'squashfs or cpio' })),
  compress: Type.Optional(Type.String()),
  noSyncFiles: Type.Optional(Type.Boolean({ description: 'leaves the files of the synclists out' })),
  ifChanged: Type.Optional(Type.Boolean({ description: 'does nothing if the pack in use would come out the same' })),
});

export const packimage = long({
  name: 'packimage',
  args: packArguments,
  uses: ['remote', 'images'],
  line: ({ image, method, compress, noSyncFiles, ifChanged }) => [
    ...(method === undefined ? [] : ['-m', method]),
    ...(compress === undefined ? [] : ['-c', compress]),
    ...(noSyncFiles ? ['--nosyncfiles'] : []),
    ...(ifChanged ? ['--if-changed'] : []),
    image,
  ],
  select: selectImage,
  subject: imageSubject,
  prepare: (
    snapshot,
    { image, method, compress, noSyncFiles = false, ifChanged = false },
    { images, remote, caller },
  ): Promise<PackJob> =>
    planPack(snapshot, images, image, {
      by: caller.user,
      method,
      compress,
      syncFiles: !noSyncFiles,
      ifChanged,
      sources: remote.sources,
    }),
  module: programFile('images/pack/pack'),
  answer: ({ id, parts }: Pack) => ({
    shape: 'none',
    messages: [`pack ${id}`, ...parts.map(({ file, sha256 }) => `${file} ${sha256}`)],
  }),
});

const rollbackArguments = Type.Object({
  ...imageArgument,
  pack: Type.Optional(Type.String({ description: 'which pack, by id or tag; absent: the one before the one in use' })),
});

/** A part of packimage for policies: whoever may put a pack to use may put an older one back. */
export const rollbackimage = long({
  name: 'packimage',
  args: rollbackArguments,
  uses: ['images'],
  line: ({ image, pack }) => ['--rollback', ...(pack === undefined ? [] : [pack]), image],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, pack }, { images, caller }): RollbackJob => ({
    ...describeImage(snapshot, images, image, caller.user).job,
    ...(pack === undefined ? {} : { pack }),
  }),
  module: programFile('images/pack/rollback'),
  answer: ({ id, made }: Pack) => ({ shape: 'none', messages: [`pack ${id} of ${made.when}`] }),
});

const tagArguments = Type.Object({
  ...imageArgument,
  tag: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9._-]{0,63}$' }),
  pack: Type.Optional(Type.String({ description: 'which pack, by id or tag; absent: the one in use' })),
  remove: Type.Optional(Type.Boolean({ description: 'takes the tag away' })),
});

/** A part of packimage for policies, as rollback is: a tag decides which packs stay. */
export const tagimage = long({
  name: 'packimage',
  args: tagArguments,
  uses: ['images'],
  line: ({ image, tag, pack, remove }) => [
    remove ? '--untag' : '--tag',
    tag,
    ...(pack === undefined ? [] : [pack]),
    image,
  ],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, tag, pack, remove = false }, { images, caller }): TagJob => ({
    ...describeImage(snapshot, images, image, caller.user).job,
    tag,
    remove,
    ...(pack === undefined ? {} : { pack }),
  }),
  module: programFile('images/pack/tag'),
  answer: ({ id, tags = [] }: Pack) => ({ shape: 'none', messages: [`pack ${id}: ${tags.join(', ') || 'no tag'}`] }),
});
