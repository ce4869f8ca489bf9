import { Type } from 'typebox';
import { imgcapture, lskmodules } from '../../commands/index.ts';
import { splitList } from './definitions.ts';
import { type Endpoint, endpoint, members, requiredText } from './endpoint.ts';

const text = (description: string) => Type.Optional(Type.String({ description }));

export const captures: Endpoint[] = [
  endpoint('POST /nodes/{noderange}/capture', {
    command: imgcapture,
    body: members({
      osimage: requiredText('missing-member', 'the image that is made; it may be defined already'),
      type: Type.Optional(
        Type.Enum(['diskless', 'sysclone'], {
          description:
            'diskless (the default): an image that nodes keep in memory; sysclone: one that is copied to disks',
        }),
      ),
      profile: text('of an image that is not defined yet; absent: that of the node'),
      exlist: text('the path of a list of what is left out, on the management node'),
      netdrivers: text('network drivers for the initial RAM disk, separated by commas'),
    }),
    args: ({ params, body: { osimage, type = 'diskless', ...more } }) =>
      ({ range: params['noderange']!, refuseEmpty: true, image: osimage, type, ...more }) as never,
    summary: 'Make an image of a running node.',
    description:
      'muster copies the files of one node by SSH, as root: those on its disks, without other file systems, temporary files, host keys, machine ID, host name and fstab, and without what the exclude list names. Without exlist that is INSTALLDIR/custom/netboot/PLATFORM/PROFILE.imgcapture.exlist, if there is one. The tree replaces one that was captured before in one step; a tree that was built otherwise stays, and the request is refused. An image that is not defined gets os, arch and profile of the node. Pack the image afterwards.',
    example: { path: '/nodes/n1/capture', body: { osimage: 'golden' } },
    only: '/muster',
  }),
  endpoint('POST /services/kmodules', {
    command: lskmodules,
    reply: 'list',
    body: members({
      osimage: text('images, separated by commas: search what their driverupdatesrc names'),
      kitcomponent: text('components of kits: search their driverpacks'),
      osdistro: text('operating systems: search the kernel packages in their dirpaths'),
      osdistroupdate: text('updates of operating systems: search the kernel packages in their dirpath'),
    }),
    args: ({ body }) =>
      Object.fromEntries(Object.entries(body).map(([member, names]) => [member, splitList(names as string)])),
    summary: 'List the kernel modules in packages and directories of drivers, each as NAME: DESCRIPTION.',
    description:
      'Packages are RPM and Debian packages; modules may be compressed. A module that comes several times is listed once.',
    example: {
      body: { osdistro: 'rocky9.6-x86_64' },
      reply: ['e1000e.ko: Intel(R) PRO/1000 Network Driver', 'virtio_net.ko: Virtio network driver'],
    },
    only: '/muster',
  }),
];
