import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import type { Pack } from '../services/images/manifest.ts';
import type { PackJob } from '../services/images/pack/pack-job.ts';
import { planPack } from '../services/images/pack/plan-pack.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const args = Type.Object({
  ...imageArgument,
  method: Type.Optional(Type.String({ description: 'squashfs or cpio' })),
  compress: Type.Optional(Type.String()),
  noSyncFiles: Type.Optional(Type.Boolean({ description: 'leaves the files of the synclists out' })),
});

export const packimage = long({
  name: 'packimage',
  args,
  uses: ['remote', 'images'],
  line: ({ image, method, compress, noSyncFiles }) => [
    ...(method === undefined ? [] : ['-m', method]),
    ...(compress === undefined ? [] : ['-c', compress]),
    ...(noSyncFiles ? ['--nosyncfiles'] : []),
    image,
  ],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, method, compress, noSyncFiles = false }, { images, remote, caller }): Promise<PackJob> =>
    planPack(snapshot, images, image, {
      by: caller.user,
      method,
      compress,
      syncFiles: !noSyncFiles,
      sources: remote.sources,
    }),
  module: programFile('services/images/pack/pack'),
  answer: ({ id, parts }: Pack) => ({
    shape: 'none',
    messages: [`pack ${id}`, ...parts.map(({ file, sha256 }) => `${file} ${sha256}`)],
  }),
});
