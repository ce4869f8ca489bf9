import { basename } from 'node:path';
import { Type } from 'typebox';
import { copycds, imgimport, imgpull } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { isContainerFile } from '../../services/images/containers/options.ts';
import { type Chosen, type Endpoint, endpoint, type Input } from '../endpoint.ts';
import { paramsOf } from '../params.ts';

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
          'options as attribute:value objects. Of iso: -n (name) and -a (arch) say what is on the medium, -p (path) where the tree is to be: INSTALLDIR/media/NAME, or INSTALLDIR/OS/ARCH with more behind the OS if wanted; -i (inspect) copies nothing, -o (noosimage) defines no images, -w (nonoverwrite) leaves a tree that exists as it is; the value of these three is "". Of containers: arch (as osarch; absent: that of the management node), osvers (absent: as the container says), profile (absent: the name), kernel (an image whose kernel and modules are taken), image (which of several in a file), force (made anew even if it is the same). Of bundles: name (what the image is called here), profile, arch (if it is not that of the management node)',
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
      "iso is the path of an ISO image below site.installdir, images.directories or remote.sources: install media of Debian, Ubuntu, RHEL, Rocky, Alma, CentOS Stream, Oracle Linux, Fedora, SLES and openSUSE Leap are known by their own files. All of it is copied to INSTALLDIR/OS/ARCH (a second disc to a directory of that number in it), verified against the checksums on the medium, and takes its place in one step. Then the operating system (osdistro) and its images (install, netboot and statelite for compute; install for service, where there is a template) are defined; those that exist get the attributes anew that come from the medium. Again with the same medium nothing is copied. What was found and verified is told in the run and with debug=1. oci, or the file of a container, make one diskless image: its layers become the tree in the image's rootimgdir (INSTALLDIR/netboot/OSVERS/OSARCH/PROFILE), the kernel is that of the tree, and the image is packed as any other; it need not be generated. Again with the same container nothing is changed, with another one the tree is replaced in one step. Any other file is a bundle: its checksums are verified, its lists go to INSTALLDIR/custom/imported, the packed image to INSTALLDIR/netboot (or statelite), and the image is defined.",
    example: {
      body: { iso: '/install/iso/Rocky-9.6-x86_64-dvd.iso', params: [{ '-n': 'rocky9.6' }] },
    },
  }),
];
