import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { effectiveReader } from '../objects/effective.ts';
import {
  checkArch,
  defineImages,
  imagePlaces,
  type MediumJob,
  type MediumMade,
  mediumPlace,
  optionWords,
  parseName,
  realPlace,
} from '../images/index.ts';
import { installDirectory } from '../objects/node-image.ts';
import { long } from './long.ts';

const args = Type.Object({
  iso: Type.String({ description: 'the path of the medium here' }),
  options: Type.Object({
    name: Type.Optional(Type.String({ description: 'the operating system, such as rocky9.6' })),
    arch: Type.Optional(Type.String()),
    path: Type.Optional(Type.String({ description: 'where the tree is to be' })),
    inspect: Type.Optional(Type.Boolean({ description: 'nothing is copied' })),
    noosimage: Type.Optional(Type.Boolean({ description: 'no images are defined' })),
    nonoverwrite: Type.Optional(Type.Boolean({ description: 'a tree that exists is left as it is' })),
  }),
});

export const copycds = long({
  name: 'copycds',
  args,
  uses: ['images'],
  line: ({ iso, options }) => [iso, ...optionWords(options)],
  subject: ({ iso }) => `medium ${iso}`,
  prepare(snapshot, { iso, options }, { images: { paths } }): MediumJob {
    const { name, arch, path, inspect, noosimage, nonoverwrite } = options;
    if (name !== undefined) parseName(name);
    return {
      iso: paths.source(snapshot, iso, 'The medium'),
      named: iso,
      name,
      arch: arch === undefined ? undefined : checkArch(arch),
      path: path === undefined ? undefined : mediumPlace(snapshot, paths, path),
      imagePlaces: inspect === true ? [] : imagePlaces(snapshot),
      installdir: realPlace(installDirectory(effectiveReader(snapshot))),
      inspects: inspect === true,
      makesImages: noosimage !== true,
      overwrites: nonoverwrite !== true,
    };
  },
  module: programFile('images/media/copy-medium'),
  plan(draft, made: MediumMade, _, { ranges }) {
    if (!made.inspected) defineImages(draft, made, ranges);
  },
  answer: ({ messages }: MediumMade) => ({ shape: 'none', messages }),
});
