import { Type } from 'typebox';
import { genimage, imgexport, imgrun, lsimage, packimage, rmimage, rollbackimage } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { type Chosen, type Endpoint, endpoint, type Input } from '../endpoint.ts';
import { paramsOf } from '../params.ts';

const image = ({ params }: Input): string => params['imgname']!;

/** What can be done with an image, by the word in the body. */
const actions: Readonly<Record<string, (input: Input) => Chosen>> = {
  gen(input) {
    const { anew } = paramsOf(input, { anew: 'flag' });
    return { command: genimage, args: { image: image(input), anew } };
  },
  pack(input) {
    const { method, compress, nosyncfiles } = paramsOf(input, {
      method: 'text',
      '-m': 'method',
      compress: 'text',
      '-c': 'compress',
      nosyncfiles: 'flag',
      '--nosyncfiles': 'nosyncfiles',
    });
    return { command: packimage, args: { image: image(input), method, compress, noSyncFiles: nosyncfiles } };
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
};

function chosenBy(input: Input): Chosen {
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
const name = 'rocky9-x86_64-netboot-compute';
const example = `/osimages/${name}/instance`;
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
              'options as attribute:value objects. Of gen: anew. Of pack: method (squashfs, cpio), compress (squashfs: zstd, xz, gzip, lz4; cpio: gzip, pigz, xz), nosyncfiles. Of export: destination (below INSTALLDIR/export). Of run: network. Of rollback: pack. The value of anew, nosyncfiles and network is ""',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    args: (input) => chosenBy(input).args as never,
    choose: chosenBy,
    summary: 'Build, pack, export or mend the image of a diskless node.',
    description:
      'gen builds the root from the lists and repositories of the image (pkglist, pkgdir, otherpkglist, otherpkgdir, kerneldir), runs its postinstall scripts in it, and makes the kernel and the initial RAM disk; if nothing has changed it does nothing, and a tree whose lists or repositories have changed is brought up to date by apt-get, dnf or zypper. pack makes what nodes fetch of it. rollback puts the pack before it back. export writes it into one file. run runs a program in a copy of the root, which takes its place if the program ends with 0; the reply is what it printed. Progress and refusals are those of long work: Prefer: respond-async, NDJSON, one at a time per image.',
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
        image: name,
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
    args: (input) => ({ image: image(input) }),
    summary: 'Remove what was built and packed of an image; its definition stays.',
    description:
      'Exactly what gen, pack and import made, as the manifest in its directory says. A directory that muster did not make is never removed, nor anything else in one that it made.',
    example: { path: example },
  }),
];
