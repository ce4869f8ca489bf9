import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { describeImage } from '../services/images/describe-image.ts';
import type { RunJob, RunMade } from '../services/images/build/run.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const args = Type.Object({
  ...imageArgument,
  command: Type.Array(Type.String({ maxLength: 100_000 }), { minItems: 1, maxItems: 1_000 }),
  network: Type.Optional(Type.Boolean({ description: 'lets the program use the network' })),
});

export const imgrun = long({
  name: 'imgrun',
  args,
  uses: ['images'],
  line: ({ image, command, network }) => [...(network ? ['--network'] : []), image, ...command],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, command, network = false }, { images, caller }): RunJob => ({
    ...describeImage(snapshot, images, image, caller.user).job,
    command,
    network,
  }),
  module: programFile('services/images/build/run'),
  answer: ({ lines }: RunMade) => ({ shape: 'list', items: lines }),
});
