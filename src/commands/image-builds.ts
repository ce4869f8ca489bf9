import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { describeImage, type GenJob, type GenMade, planGen, type RunJob, type RunMade } from '../images/index.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const genArguments = Type.Object({
  ...imageArgument,
  anew: Type.Optional(Type.Boolean({ description: 'builds the tree from the beginning, also if nothing has changed' })),
});

export const genimage = long({
  name: 'genimage',
  args: genArguments,
  uses: ['images'],
  line: ({ image, anew }) => [...(anew ? ['--anew'] : []), image],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, anew = false }, { images, caller }): Promise<GenJob> =>
    planGen(snapshot, images, image, { by: caller.user, anew }),
  module: programFile('images/build/gen'),
  answer: ({ did, packages }: GenMade) => ({ shape: 'none', messages: [`${did}, ${packages} packages`] }),
});

const runArguments = Type.Object({
  ...imageArgument,
  command: Type.Array(Type.String({ maxLength: 100_000 }), { minItems: 1, maxItems: 1_000 }),
  network: Type.Optional(Type.Boolean({ description: 'lets the program use the network' })),
});

export const imgrun = long({
  name: 'imgrun',
  args: runArguments,
  uses: ['images'],
  line: ({ image, command, network }) => [...(network ? ['--network'] : []), image, ...command],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, command, network = false }, { images, caller }): RunJob => ({
    ...describeImage(snapshot, images, image, caller.user).job,
    command,
    network,
  }),
  module: programFile('images/build/run'),
  answer: ({ lines }: RunMade) => ({ shape: 'list', items: lines }),
});
