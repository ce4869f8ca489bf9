import { Type } from 'typebox';
import {
  addkit,
  addkitcomp,
  chkkitcomp,
  lskit,
  lskitcomp,
  lskitdeployparam,
  rmkit,
  rmkitcomp,
} from '../../commands/index.ts';
import { isSet, splitList } from './definitions.ts';
import { type Endpoint, endpoint, type Input, members, requiredText } from './endpoint.ts';

const texts = Type.Record(Type.String(), Type.String());
const exampleImage = 'rocky9-x86_64-netboot-compute';
const exampleComponent = 'tools-compute-1.0-1-rocky-9-x86_64';
const exampleComponents = { kitcompname: exampleComponent, basename: 'tools-compute', kitname: 'tools-1.0-1' };

const switchIn = ({ query }: Input, name: string): true | undefined => isSet(name, query[name], '1') || undefined;
const named = ({ params }: Input) => ({
  image: params['imgname']!,
  components: splitList(params['kitcomponents']!),
});

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const kitBody = members({
  file: requiredText(
    'missing-member',
    'the path of the kit on the management node: a tar archive, or a directory with the same content',
  ),
  path: Type.Optional(Type.String({ description: 'the directory to put the kit in; absent: INSTALLDIR/kits' })),
  inspect: flag('only say what the kit is'),
});
const componentBody = members({
  components: requiredText('missing-member', 'full names or basenames of kit components, separated by commas'),
  adddeps: flag('add the components that these need, too'),
  force: flag('also if they do not fit the image, or lack what they need'),
  noupgrade: flag('keep older versions of the same components beside them'),
  noscripts: flag('do not add their scripts to postbootscripts'),
});

/** Software kits: archives of repositories, lists and scripts that images take in. */
export const kits: Endpoint[] = [
  endpoint('GET /kits', {
    command: lskit,
    reply: 'object',
    returns: Type.Object({
      kits: Type.Array(
        Type.Object({
          kit: texts,
          repos: Type.Array(texts),
          components: Type.Array(texts),
          images: Type.Record(Type.String(), Type.Array(Type.String()), {
            description: 'components that images have, with these images',
          }),
        }),
      ),
    }),
    summary: 'List software kits, with their repositories and components.',
    example: {
      reply: {
        kits: [
          {
            kit: { kitname: 'tools-1.0-1', basename: 'tools', version: '1.0' },
            repos: [{ kitreponame: 'tools-1.0-1-rocky-9-x86_64', osbasename: 'rocky', osmajorversion: '9' }],
            components: [exampleComponents],
            images: { [exampleComponent]: [exampleImage] },
          },
        ],
      },
    },
    only: '/muster',
  }),
  endpoint('POST /kits', {
    command: addkit,
    body: kitBody,
    args: ({ body }) => body as never,
    summary: 'Add a software kit.',
    description:
      'Unpacks it to INSTALLDIR/kits/KIT, copies its scripts to the directory of postscripts, and defines the kit, its repositories and its components. A script of another content under the same name is not replaced: the kit is refused. Plug-ins of kits are not run. Accounts with full rights may name any file of the management node; others what images may be made from.',
    example: { body: { file: '/install/kits/in/tools-1.0-1.tar.bz2' } },
    only: '/muster',
  }),
  endpoint('DELETE /kits/{kit}', {
    command: rmkit,
    range: 'kit',
    query: { force: '1: also if images have components of it, which then lose them.' },
    args: (input) => ({ kit: input.params['kit']!, force: switchIn(input, 'force') }),
    summary: 'Remove a software kit.',
    description:
      'Its directory, if addkit made it, its scripts in the directory of postscripts that nobody has changed, and its definitions. If images have components of it, they are named and nothing is removed.',
    example: { path: '/kits/tools-1.0-1' },
    only: '/muster',
  }),
  endpoint('GET /kits/{kit}/parameters', {
    command: lskitdeployparam,
    reply: 'object',
    range: 'kit',
    args: ({ params }) => ({ kit: params['kit']! }),
    returns: texts,
    summary: 'The deployment parameters of a kit: variables for its packages and scripts.',
    example: { path: '/kits/tools-1.0-1/parameters', reply: { KIT_TOOLS_LICENSE: 'accept' } },
    only: '/muster',
  }),
  endpoint('GET /kitcomponents', {
    command: lskitcomp,
    reply: 'object',
    query: { osdistro: 'Only components that fit this operating system, such as rocky9.6-x86_64.' },
    args: ({ query }) => ({ osdistro: query['osdistro'] }),
    returns: Type.Object({ kitcomponents: Type.Array(texts) }),
    summary: 'List the components of software kits.',
    example: { reply: { kitcomponents: [exampleComponents] } },
    only: '/muster',
  }),
  endpoint('POST /osimages/{imgname}/kitcomponents', {
    command: addkitcomp,
    range: 'imgname',
    body: componentBody,
    args: ({ params, body: { components, ...options } }) => ({
      image: params['imgname']!,
      components: splitList(components as string),
      ...options,
    }),
    summary: 'Let an image take in components of software kits.',
    description:
      'Writes lists of packages, exclusions and scripts to INSTALLDIR/osimages/IMAGE/kits, links the repositories into otherpkgdir of the image, and changes kitcomponents, otherpkglist, otherpkgdir, exlist, postinstall and postbootscripts of the image. The next gen, or an update of the nodes, installs the packages.',
    example: {
      path: `/osimages/${exampleImage}/kitcomponents`,
      body: { components: 'tools-compute', adddeps: true },
    },
    only: '/muster',
  }),
  endpoint('GET /osimages/{imgname}/kitcomponents/{kitcomponents}', {
    command: chkkitcomp,
    reply: 'list',
    range: 'imgname',
    args: named,
    summary: 'Whether components of software kits fit an image: their full names, or an error that says why not.',
    example: {
      path: `/osimages/${exampleImage}/kitcomponents/tools-compute`,
      reply: [exampleComponent],
    },
    only: '/muster',
  }),
  endpoint('DELETE /osimages/{imgname}/kitcomponents/{kitcomponents}', {
    command: rmkitcomp,
    range: 'imgname',
    query: {
      force: '1: also if other components of the image need them.',
      noscripts: '1: leave their scripts in postbootscripts.',
      uninstall: '1: list their packages for removal, by the next gen or update of nodes.',
    },
    args: (input) => ({
      ...named(input),
      force: switchIn(input, 'force'),
      noscripts: switchIn(input, 'noscripts'),
      uninstall: switchIn(input, 'uninstall'),
    }),
    summary: 'Take components of software kits out of an image.',
    example: { path: `/osimages/${exampleImage}/kitcomponents/tools-compute` },
    only: '/muster',
  }),
];
