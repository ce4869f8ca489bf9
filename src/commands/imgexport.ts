import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import type { Exported, ExportJob } from '../services/images/bundles/export.ts';
import { planExport } from '../services/images/bundles/plan-bundle.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const args = Type.Object({
  ...imageArgument,
  destination: Type.Optional(Type.String({ description: 'a full path; absent: INSTALLDIR/export/IMAGE.tgz' })),
});

export const imgexport = long({
  name: 'imgexport',
  args,
  uses: ['images'],
  line: ({ image, destination }) => [image, ...(destination === undefined ? [] : [destination])],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, destination }, { images, caller }): ExportJob =>
    planExport(snapshot, images, image, { by: caller.user, destination }),
  module: programFile('services/images/bundles/export'),
  answer: ({ file, size, sha256 }: Exported) => ({
    shape: 'none',
    messages: [`${file}: ${size} bytes, SHA-256 ${sha256}`],
  }),
});
