import { basename } from 'node:path';
import { Type } from 'typebox';
import {
  chkosimage,
  copycds,
  genimage,
  imgexport,
  imgimport,
  imgpull,
  imgrun,
  lsimage,
  packimage,
  rmimage,
  rmosdistro,
  rollbackimage,
  tagimage,
} from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { isContainerFile } from '../../images/index.ts';
import { forced, isSet } from './definitions.ts';
import { type Chosen, type Endpoint, endpoint, type Input } from './endpoint.ts';

/** A text, or a switch; any other word is the name that this one is another word for. */
type Kinds = Readonly<Record<string, string>>;
type Read<K extends Kinds> = {
  -readonly [P in keyof K as K[P] extends 'text' | 'flag' ? P : never]?: K[P] extends 'flag' ? true : string;
};

/** The options in `params`, an array of attribute:value objects; an option that is not known is an error at either root. */
export function paramsOf<const K extends Kinds>({ body }: Pick<Input, 'body'>, kinds: K): Read<K> {
  const found = new Map<string, string | boolean>();
  for (const [given, value] of ((body['params'] ?? []) as readonly object[]).flatMap((each) => Object.entries(each))) {
    const name = nameOf(given, kinds);
    if (found.has(name)) throw new Fault('malformed', `params give ${name} twice.`);
    found.set(name, kinds[name] === 'flag' ? isOn(given, value) : textOf(given, value));
  }
  return Object.fromEntries([...found].filter(([, value]) => value !== false)) as Read<K>;
}

const isName = (kinds: Kinds, name: string): boolean => kinds[name] === 'text' || kinds[name] === 'flag';

function nameOf(given: string, kinds: Kinds): string {
  if (Object.hasOwn(kinds, given)) return isName(kinds, given) ? given : kinds[given]!;
  const known = Object.keys(kinds)
    .filter((name) => isName(kinds, name))
    .map((name) => {
      const others = Object.keys(kinds).filter((each) => kinds[each] === name);
      return others.length === 0 ? name : `${name} (${others.join(', ')})`;
    });
  throw new Fault(
    'malformed',
    `There is no option ${JSON.stringify(given.slice(0, 100))} in params; known are ${known.join(', ')}.`,
  );
}

function textOf(given: string, value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string' && value !== '') return value;
  throw new Fault('malformed', `params: ${given} needs a value, a text.`);
}

/** A switch is on by being there. */
function isOn(given: string, value: unknown): boolean {
  if (['', null, true, 1, '1', 'yes', 'true'].some((each) => each === value)) return true;
  if ([false, 0, '0', 'no', 'false'].some((each) => each === value)) return false;
  throw new Fault('malformed', `params: ${given} is a switch; give "" or true.`);
}

const image = ({ params }: Input): string => params['imgname']!;

/** What can be done with an image, by the word in the body. */
const actions: Readonly<Record<string, (input: Input) => Chosen>> = {
  gen(input) {
    const { anew } = paramsOf(input, { anew: 'flag' });
    return { command: genimage, args: { image: image(input), anew } };
  },
  pack(input) {
    const { method, compress, nosyncfiles, ifchanged } = paramsOf(input, {
      method: 'text',
      '-m': 'method',
      compress: 'text',
      '-c': 'compress',
      nosyncfiles: 'flag',
      '--nosyncfiles': 'nosyncfiles',
      ifchanged: 'flag',
      '--if-changed': 'ifchanged',
    });
    const args = { image: image(input), method, compress, noSyncFiles: nosyncfiles, ifChanged: ifchanged };
    return { command: packimage, args };
  },
  export(input) {
    const { destination } = paramsOf(input, { destination: 'text' });
    return { command: imgexport, args: { image: image(input), destination } };
  },
  run(input) {
    const { network } = paramsOf(input, { network: 'flag' });
    const { command } = input.body;
    if (!Array.isArray(command) || command.length === 0)
      throw new Fault(
        'missing-member',
        'The body lacks the member "command", an array of the program and its arguments.',
      );
    return { command: imgrun, args: { image: image(input), command, network } };
  },
  rollback(input) {
    const { pack } = paramsOf(input, { pack: 'text' });
    return { command: rollbackimage, args: { image: image(input), pack } };
  },
  tag(input) {
    const { tag = '', pack, remove } = paramsOf(input, { tag: 'text', pack: 'text', remove: 'flag' });
    if (!/^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(tag))
      throw new Fault('malformed', 'params need a tag: a letter, then letters, digits and ._- (at most 64).');
    return { command: tagimage, args: { image: image(input), tag, pack, remove } };
  },
};

function instanceAct(input: Input): Chosen {
  const { action } = input.body;
  if (action === undefined || action === '') throw new Fault('missing-action', 'The body lacks the member "action".');
  const known = Object.keys(actions);
  if (typeof action !== 'string' || !known.includes(action))
    throw new Fault('malformed', `There is no action ${JSON.stringify(action)}; known are ${known.join(', ')}.`, {
      reference: [`Incorrect action:${typeof action === 'string' ? action : ''}.`],
    });
  if (input.body['command'] !== undefined && action !== 'run')
    throw new Fault('malformed', 'The member "command" belongs to the action run.');
  return actions[action]!(input);
}

const path = '/osimages/{imgname}/instance';
const exampleName = 'rocky9-x86_64-netboot-compute';
const example = `/osimages/${exampleName}/instance`;
const made = { when: '2026-11-15T19:00:00.000Z', by: 'root', run: '0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11' };

export const imageInstance: Endpoint[] = [
  endpoint(`POST ${path}`, {
    command: genimage,
    range: 'imgname',
    body: Type.Object(
      {
        action: Type.Optional(Type.String({ description: Object.keys(actions).join(', ') })),
        command: Type.Optional(
          Type.Array(Type.String({ maxLength: 100_000 }), {
            maxItems: 1_000,
            description: 'of run: the program and its arguments; no shell reads them',
          }),
        ),
        params: Type.Optional(
          Type.Array(Type.Record(Type.String(), Type.Unknown()), {
            maxItems: 100,
            description:
              'options as attribute:value objects. Of gen: anew. Of pack: method (squashfs, cpio), compress (squashfs: zstd, xz, gzip, lz4; cpio: gzip, pigz, xz), nosyncfiles, ifchanged (does nothing if the pack in use would come out the same). Of export: destination (below INSTALLDIR/export). Of run: network. Of rollback: pack (its id or a tag). Of tag: tag, pack (absent: the one in use), remove. The value of anew, nosyncfiles, ifchanged, network and remove is ""',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    args: (input) => instanceAct(input).args as never,
    choose: instanceAct,
    summary: 'Build, pack, export or mend the image of a diskless node.',
    description:
      'gen builds the root from the lists and repositories of the image (pkglist, pkgdir, otherpkglist, otherpkgdir, kerneldir), runs its postinstall scripts in it, and makes the kernel and the initial RAM disk; if nothing has changed it does nothing, and a tree whose lists or repositories have changed is brought up to date by apt-get, dnf or zypper. pack makes what nodes fetch of it. rollback puts the pack before it back, or one that is named by its id or a tag. tag gives a pack a name; such a pack is kept until the tag goes. export writes it into one file. run runs a program in a copy of the root, which takes its place if the program ends with 0; the reply is what it printed. Progress and refusals are those of long work: Prefer: respond-async, NDJSON, one at a time per image.',
    example: { path: example, body: { action: 'pack', params: [{ compress: 'xz' }] } },
  }),
  endpoint(`GET ${path}`, {
    command: lsimage,
    reply: 'object',
    range: 'imgname',
    args: (input) => ({ image: image(input) }),
    summary: 'What is built and packed of an image: packages, lists, checksums, who did it and when.',
    example: {
      path: example,
      reply: {
        directory: '/install/netboot/rocky9.2/x86_64/compute',
        image: exampleName,
        osvers: 'rocky9.2',
        osarch: 'x86_64',
        profile: 'compute',
        made,
        packages: [{ name: 'bash', version: '5.1.8-6.el9', arch: 'x86_64' }],
        runs: [],
        kernel: '5.14.0-284.11.1.el9_2.x86_64',
        files: ['kernel', 'initrd-stateless.gz'],
        packs: [
          {
            id: '3f0c5a9b7d1e2f48',
            method: 'squashfs',
            compress: 'zstd',
            parts: [
              {
                file: 'rootimg.sfs',
                sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
                size: 81264640,
              },
            ],
            packages: 182,
            lists: [],
            made,
          },
        ],
        current: '3f0c5a9b7d1e2f48',
        source: {
          kind: 'packages',
          lists: [
            {
              path: '/install/custom/netboot/rocky/compute.pkglist',
              sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
            },
          ],
        },
      },
    },
    only: '/muster',
  }),
  endpoint(`DELETE ${path}`, {
    command: rmimage,
    range: 'imgname',
    query: forced,
    args: (input) => ({ image: image(input), force: isSet('force', input.query['force'], '1') || undefined }),
    summary: 'Remove what was built and packed of an image; its definition stays.',
    description:
      'Exactly what gen, pack and import made, as the manifest in its directory says. A directory that muster did not make is never removed, nor anything else in one that it made. If nodes are set to the image, they are named and nothing is removed.',
    example: { path: example },
  }),
  endpoint('GET /osimages/{imgname}/check', {
    command: chkosimage,
    reply: 'object',
    range: 'imgname',
    args: (input) => ({ image: image(input) }),
    returns: Type.Object({
      found: Type.Array(Type.String(), { description: 'attributes with the files that they name and that are there' }),
      problems: Type.Array(Type.String(), { description: 'what is wrong, and what to do; empty if nothing is' }),
    }),
    summary: 'Whether nodes can boot an image, and whether the files that its definition names are there.',
    example: {
      path: `/osimages/${exampleName}/check`,
      reply: {
        found: ['pkglist /install/custom/netboot/rocky/compute.pkglist'],
        problems: [`${exampleName}: pkgdir /install/rocky9.2/x86_64 does not exist on the management node.`],
      },
    },
    only: '/muster',
  }),
];

export const media: Endpoint[] = [
  endpoint('DELETE /osdistros/{osdistro}', {
    command: rmosdistro,
    range: 'osdistro',
    query: { force: '1: also if images are installed from it.' },
    args: ({ params, query }) => ({
      distro: params['osdistro']!,
      force: isSet('force', query['force'], '1') || undefined,
    }),
    summary: 'Remove what was copied from install media of an operating system, and its definition.',
    description:
      'The directories in dirpaths that a copy of media has made; others stay. If images are installed from it, they are named and nothing is removed.',
    example: { path: '/osdistros/rocky9.6-x86_64' },
    only: '/muster',
  }),
];

const mediumParams = {
  name: 'text',
  '-n': 'name',
  '--osver': 'name',
  arch: 'text',
  '-a': 'arch',
  '--arch': 'arch',
  path: 'text',
  '-p': 'path',
  '--path': 'path',
  inspect: 'flag',
  '-i': 'inspect',
  '--inspection': 'inspect',
  noosimage: 'flag',
  '-o': 'noosimage',
  '--noosimage': 'noosimage',
  nonoverwrite: 'flag',
  '-w': 'nonoverwrite',
  '--nonoverwrite': 'nonoverwrite',
} as const;
const containerParams = {
  arch: 'text',
  osvers: 'text',
  profile: 'text',
  kernel: 'text',
  image: 'text',
  force: 'flag',
} as const;
const bundleParams = { name: 'text', arch: 'text', profile: 'text', '-f': 'profile' } as const;

/** What an image is made from, by the member of the body that names it. */
const sources: Readonly<Record<string, (value: string, input: Input) => Chosen>> = {
  iso: (iso, input) => ({ command: copycds, args: { iso, options: paramsOf(input, mediumParams) } }),
  oci: (oci, input) => {
    const { name, login } = input.body;
    if (typeof name !== 'string') throw new Fault('missing-member', 'name must say what the image is to be called.');
    return { command: imgpull, args: { name, oci, login, options: paramsOf(input, containerParams) } };
  },
  file: (file, input) => {
    if (!isContainerFile(file)) return { command: imgimport, args: { file, ...paramsOf(input, bundleParams) } };
    const name = input.body['name'] ?? basename(file).replace(/\.(oci|docker)(\.tar)?$/, '');
    return { command: imgpull, args: { name, file, options: paramsOf(input, containerParams) } };
  },
};

const imageBody = Type.Object(
  {
    iso: Type.Optional(Type.String({ description: 'the path of an install medium on the management node' })),
    oci: Type.Optional(
      Type.String({ description: 'a container image in a registry: REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST' }),
    ),
    file: Type.Optional(
      Type.String({
        description:
          'a path on the management node: of a container image (an OCI layout as a directory NAME.oci or an archive NAME.oci.tar, or what docker save writes, NAME.docker.tar), or of a bundle that export wrote, here or in the reference system',
      }),
    ),
    name: Type.Optional(
      Type.String({ description: 'what the image of a container is to be called; of a file, absent: as the file' }),
    ),
    login: Type.Optional(
      Type.Object(
        { username: Type.String(), password: Type.String() },
        {
          description: 'for the registry; absent: that of table passwd, key registry:HOST:PORT, else none',
          additionalProperties: false,
        },
      ),
    ),
    params: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description:
          'options as attribute:value objects. Of iso: -n (name) and -a (arch) say what is on the medium, -p (path) where the tree is to be: INSTALLDIR/media/NAME, or INSTALLDIR/OS/ARCH with more behind the OS if wanted; -i (inspect) copies nothing, -o (noosimage) defines no images, -w (nonoverwrite) leaves a tree that exists as it is; the value of these three is "". Of containers: arch (as osarch; absent: that of the management node), osvers (absent: as the container says), profile (absent: the name), kernel (an image whose kernel and modules are taken), image (which of several in a file), force (made again even if it is the same). Of bundles: name (what the image is called here), profile, arch (if it is not that of the management node)',
        maxItems: 100,
      }),
    ),
  },
  { additionalProperties: false },
);

function chosenBy(input: Input): Chosen {
  const known = Object.keys(sources);
  const given = known.flatMap((member) => {
    const value = input.body[member];
    return typeof value === 'string' && value !== '' ? { member, value } : [];
  });
  const [first, second] = given;
  if (!first)
    throw new Fault('missing-action', `The body says nothing to make images from: give ${known.join(' or ')}.`, {
      reference: ['Invalid source.'],
    });
  if (second)
    throw new Fault('malformed', `The body names both ${first.member} and ${second.member}: give one of them.`);
  return sources[first.member]!(first.value, input);
}

export const images: Endpoint[] = [
  endpoint('POST /osimages', {
    command: copycds,
    body: imageBody,
    args: (input) => chosenBy(input).args as never,
    choose: chosenBy,
    summary: 'Make operating system images from an install medium, a container or a bundle.',
    description:
      "iso is the path of an ISO image below site.installdir, images.directories or remote.sources: install media of Debian, Ubuntu, RHEL, Rocky, Alma, CentOS Stream, Oracle Linux, Fedora, SLES and openSUSE Leap are known by their own files. All of it is copied to INSTALLDIR/OS/ARCH (a second disc to a directory of that number in it), verified against the checksums on the medium, and takes its place in one step. Then the operating system (osdistro) and its images (install, netboot and statelite for compute; install for service, where there is a template) are defined; those that exist get the attributes again that come from the medium. Again with the same medium nothing is copied. The run and debug=1 show what was found and verified. oci, or the file of a container, make one diskless image: its layers become the tree in the image's rootimgdir (INSTALLDIR/netboot/OSVERS/OSARCH/PROFILE), the kernel is that of the tree, and the image is packed as any other; it need not be generated. Again with the same container nothing is changed, with another one the tree is replaced in one step. Any other file is a bundle: its checksums are verified, its lists go to INSTALLDIR/custom/imported, the packed image to INSTALLDIR/netboot (or statelite), and the image is defined.",
    example: {
      body: { iso: '/install/iso/Rocky-9.6-x86_64-dvd.iso', params: [{ '-n': 'rocky9.6' }] },
    },
  }),
];
