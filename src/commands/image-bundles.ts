import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { programFile } from '../core/home.ts';
import {
  type Exported,
  type ExportJob,
  type Imported,
  type ImportJob,
  planExport,
  planImport,
} from '../images/index.ts';
import { createObject } from '../objects/define.ts';
import { objectExists } from '../objects/definitions.ts';
import { typeNamed } from '../objects/types.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const exportArguments = Type.Object({
  ...imageArgument,
  destination: Type.Optional(Type.String({ description: 'a full path; absent: INSTALLDIR/export/IMAGE.tgz' })),
});

export const imgexport = long({
  name: 'imgexport',
  args: exportArguments,
  uses: ['images'],
  line: ({ image, destination }) => [image, ...(destination === undefined ? [] : [destination])],
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, { image, destination }, { images, caller }): ExportJob =>
    planExport(snapshot, images, image, { by: caller.user, destination }),
  module: programFile('images/bundles/export'),
  answer: ({ file, size, sha256 }: Exported) => ({
    shape: 'none',
    messages: [`${file}: ${size} bytes, SHA-256 ${sha256}`],
  }),
});

const importArguments = Type.Object({
  file: Type.String({ description: 'the path of the bundle here' }),
  name: Type.Optional(Type.String({ description: 'what the image is called here' })),
  profile: Type.Optional(Type.String()),
  arch: Type.Optional(Type.String({ description: "the bundle's architecture, if it is not this machine's" })),
});

const osimage = typeNamed('osimage');

export const imgimport = long({
  name: 'imgimport',
  args: importArguments,
  uses: ['images'],
  line: ({ file, name, profile, arch }) => [
    file,
    ...(profile === undefined ? [] : ['-f', profile]),
    ...(name === undefined ? [] : ['--name', name]),
    ...(arch === undefined ? [] : ['--arch', arch]),
  ],
  subject: ({ file }) => `bundle ${file}`,
  prepare: (snapshot, given, { images, caller }): ImportJob => planImport(snapshot, images, given, caller.user),
  module: programFile('images/bundles/import'),
  plan(draft, { image, attributes }: Imported, _args, { ranges }) {
    if (objectExists(draft.base, osimage, image))
      throw new Fault(
        'invalid',
        `The image ${image} was defined by somebody else meanwhile; its files are in ${attributes['rootimgdir'] ?? 'no directory'}.`,
      );
    createObject(draft, osimage, image, attributes, ranges);
  },
  answer: ({ image }: Imported) => ({ shape: 'none', messages: [`image ${image}`] }),
});
