import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { defineImage, planPull, type Pulled, type PullJob, pullWords } from '../images/index.ts';
import { long } from './long.ts';

const text = Type.Optional(Type.String());

const args = Type.Object({
  name: Type.String({ description: 'the image that is made' }),
  oci: Type.Optional(Type.String({ description: 'where a container image is: REGISTRY/NAME:TAG' })),
  file: Type.Optional(Type.String({ description: 'the path of one here, instead' })),
  login: Type.Optional(Type.Object({ username: Type.String(), password: Type.String() })),
  options: Type.Object({
    arch: text,
    osvers: text,
    profile: text,
    kernel: Type.Optional(Type.String({ description: 'an image whose kernel is taken' })),
    image: Type.Optional(Type.String({ description: 'which one of several in a file' })),
    force: Type.Optional(Type.Boolean({ description: 'makes it again even if it is the same' })),
  }),
});

export const imgpull = long({
  name: 'imgpull',
  args,
  uses: ['images'],
  // A login is a secret.
  line: ({ name, oci, file, options }) => [oci ?? file ?? '', name, ...pullWords(options)],
  subject: ({ name }) => `image ${name}`,
  prepare: (snapshot, request, { images, caller }): PullJob => planPull(snapshot, images, request, caller.user),
  module: programFile('images/containers/pull'),
  plan: (draft, made: Pulled, _, { ranges }) => defineImage(draft, made, ranges),
});
