import { Type } from 'typebox';
import { copycds } from '../../commands/copycds.ts';
import { imgimport } from '../../commands/imgimport.ts';
import { Fault } from '../../core/errors.ts';
import { readCopyOptions } from '../../services/images/media/options.ts';
import { type Chosen, type Endpoint, endpoint, type Input } from '../endpoint.ts';
import { paramsOf } from '../params.ts';

type Params = readonly Readonly<Record<string, unknown>>[];

/** What an image is made from, by the member of the body that names it; the first that is there counts. */
const sources: Readonly<Record<string, (value: string, params: Params) => Chosen>> = {
  iso: (iso, params) => ({ command: copycds, args: { iso, options: readCopyOptions(params) } }),
  file: (file, params) => ({
    command: imgimport,
    args: { file, ...paramsOf({ body: { params } }, { name: 'text', arch: 'text', profile: 'text', '-f': 'profile' }) },
  }),
};

const imageBody = Type.Object(
  {
    iso: Type.Optional(Type.String({ description: 'the path of an install medium on the management node' })),
    file: Type.Optional(
      Type.String({ description: 'the path of a bundle that export wrote, here or in the reference system' }),
    ),
    params: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description:
          'options as attribute:value objects. Of iso: -n (name) and -a (arch) say what is on the medium, -p (path) where the tree is to be; -i (inspect) copies nothing, -o (noosimage) defines no images, -w (nonoverwrite) leaves a tree that exists as it is; the value of these three is "". Of file: name (what the image is called here), profile, arch (if it is not that of the management node)',
        maxItems: 100,
      }),
    ),
  },
  { additionalProperties: false },
);

function chosenBy({ body }: Input): Chosen {
  for (const [member, choose] of Object.entries(sources)) {
    const value = body[member];
    if (typeof value === 'string' && value !== '') return choose(value, (body['params'] ?? []) as Params);
  }
  throw new Fault(
    'missing-action',
    `The body says nothing to make images from: give ${Object.keys(sources).join(' or ')}.`,
  );
}

export const images: Endpoint[] = [
  endpoint({
    method: 'POST',
    path: '/osimages',
    command: copycds,
    reply: 'none',
    body: imageBody,
    args: (input) => chosenBy(input).args as never,
    choose: chosenBy,
    summary: 'Make operating system images from an install medium or from a bundle.',
    description:
      'iso is the path of an ISO image below site.installdir, images.directories or remote.sources: install media of Debian, Ubuntu, RHEL, Rocky, Alma, CentOS Stream, Oracle Linux, Fedora, SLES and openSUSE Leap are known by their own files. All of it is copied to INSTALLDIR/OS/ARCH (a second disc to a directory of that number in it), verified against the checksums on the medium, and takes its place in one step. Then the operating system (osdistro) and its images (install, netboot and statelite for compute; install for service, where there is a template) are defined; those that exist get the attributes anew that come from the medium. Again with the same medium nothing is copied. What was found and verified is told in the run and with debug=1. file is the path of a bundle below the same directories: its checksums are verified, its lists go to INSTALLDIR/custom/imported, the packed image to INSTALLDIR/netboot, and the image is defined.',
    example: {
      path: '/osimages',
      body: { iso: '/install/iso/Rocky-9.6-x86_64-dvd.iso', params: [{ '-n': 'rocky9.6' }] },
    },
  }),
];
