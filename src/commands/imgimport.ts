import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { createObject } from '../objects/define.ts';
import { objectExists } from '../objects/definitions.ts';
import { typeNamed } from '../objects/types.ts';
import { Fault } from '../core/errors.ts';
import type { Imported, ImportJob } from '../services/images/bundles/import.ts';
import { planImport } from '../services/images/bundles/plan-bundle.ts';
import { long } from './long.ts';

const args = Type.Object({
  file: Type.String({ description: 'the path of the bundle here' }),
  name: Type.Optional(Type.String({ description: 'what the image is called here' })),
  profile: Type.Optional(Type.String()),
  arch: Type.Optional(Type.String({ description: "the bundle's architecture, if it is not this machine's" })),
});

const osimage = typeNamed('osimage');

export const imgimport = long({
  name: 'imgimport',
  args,
  uses: ['images'],
  line: ({ file, name, profile, arch }) => [
    file,
    ...(profile === undefined ? [] : ['-f', profile]),
    ...(name === undefined ? [] : ['--name', name]),
    ...(arch === undefined ? [] : ['--arch', arch]),
  ],
  subject: ({ file }) => `bundle ${file}`,
  prepare: (snapshot, given, { images, caller }): ImportJob => planImport(snapshot, images, given, caller.user),
  module: programFile('services/images/bundles/import'),
  plan(draft, { image, attributes }: Imported, _args, { ranges }) {
    if (objectExists(draft.base, osimage, image))
      throw new Fault(
        'invalid',
        `The image ${image} was defined by another meanwhile; its files are in ${attributes['rootimgdir'] ?? 'no directory'}.`,
      );
    createObject(draft, osimage, image, attributes, ranges);
  },
  answer: ({ image }: Imported) => ({ shape: 'none', messages: [`image ${image}`] }),
});
