import { Type } from 'typebox';
import { lsanswers, lsboot, lsoverlay, nodeset, nodesetStat, rinstall, sendoverlay } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { type Endpoint, endpoint, type Input, members, nodesOf } from './endpoint.ts';

function givenState({ body }: Input, word: 'state' | 'action' = 'state'): string | undefined {
  const { osimage, [word]: state } = body as { osimage?: string; state?: string; action?: string };
  if (osimage !== undefined && state !== undefined)
    throw new Fault('malformed', `Give either "osimage" or "${word}", not both.`);
  return osimage === undefined ? state || undefined : `osimage=${osimage}`;
}

function stateOf(input: Input): string {
  const state = givenState(input);
  if (state === undefined) throw new Fault('missing-member', 'The body lacks the member "osimage" or "state".');
  return state;
}

const osimage = Type.Optional(Type.String({ description: 'the name of an image; absent: the one of each node' }));
const force = Type.Optional(
  Type.Boolean({ description: 'true: also an image that cannot boot now (not built, not packed, without a kernel)' }),
);
const media = Type.Optional(
  Type.Boolean({
    description:
      'true: from virtual media, which muster makes and ejects as soon as they run; for machines with Redfish and UEFI',
  }),
);
const fromMedia = ({ body }: Input): { media?: true } => ((body as { media?: boolean }).media ? { media: true } : {});
const isForced = ({ body }: Input): { force?: true } => ((body as { force?: boolean }).force ? { force: true } : {});
const provisionSteps =
  'In one call: the boot state of all nodes in one change set, their reservations, next boot from the network, power. A node that has no netboot, arch or mgt, whose arch is not that of the image, or that somebody else is provisioning fails before anything of it is changed. The policy is asked for rinstall alone.';

const withSlash = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

export const boot: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/bootstate', {
    command: nodesetStat,
    reply: 'attributes',
    args: ({ root, params }) => ({
      range: params['noderange']!,
      ...(root.strict ? {} : { members: ['bootstat', 'bootstate'] }),
    }),
    summary: 'What nodes do when they boot from the network.',
    example: { reply: { n1: { bootstat: 'boot' } } },
  }),
  endpoint('GET /nodes/{noderange}/boot', {
    command: lsboot,
    reply: 'attributes',
    args: ({ params }) => ({ range: params['noderange']! }),
    summary: 'Where nodes are in their boot: what they have fetched and reported, when, and why one does not go on.',
    description:
      'history has the last ten boots before this one since muster was started, the oldest first; boots that ended alike one after another count as one.',
    example: {
      reply: {
        n1: {
          bootstate: 'netboot debian12-x86_64-compute',
          status: 'netbooting',
          began: '2026-11-16T09:05:00.000Z',
          step: 'initrd',
          since: '2026-11-16T09:05:04.000Z',
          lastline: '',
          steps: [
            '2026-11-16T09:05:00.000Z tftp loader undionly.kpxe (70000 bytes)',
            '2026-11-16T09:05:03.000Z http script boot/52-54-00-00-00-01.ipxe (500 bytes)',
            '2026-11-16T09:05:03.500Z http kernel boot/images/deb/0123456789abcdef/kernel (8000000 bytes)',
            '2026-11-16T09:05:04.000Z http initrd boot/images/deb/0123456789abcdef/initrd (9000000 bytes)',
          ],
          history: [
            '2026-11-15T08:00:00.000Z to 2026-11-15T08:01:10.000Z: booted (loader, script, kernel, initrd, root, initramfs, booting, booted)',
          ],
          why: 'It fetched kernel and initial RAM disk 90 seconds ago. Nothing was heard since: the kernel does not start, or it has no driver for the network card.',
        },
      },
    },
  }),
  endpoint('GET /nodes/{noderange}/answers', {
    command: lsanswers,
    reply: 'attributes',
    args: nodesOf,
    summary: 'What the installers of nodes would get: the files that each fetches, as they are made now.',
    description:
      'Nothing is changed, and nothing is sent to the nodes. The token and the hash of the password of root are hidden. At most 64 nodes.',
    example: {
      reply: {
        n1: {
          'preseed.cfg': 'd-i debian-installer/locale string en_US.UTF-8\n',
          'installed.sh': '#!/bin/sh\nset -eu\n',
          'finish.sh': '#!/bin/sh\n',
        },
      },
    },
  }),
  endpoint('GET /nodes/{noderange}/overlay', {
    command: lsoverlay,
    reply: 'attributes',
    args: nodesOf,
    summary: 'The files that nodes get of their overlays: mode, owner, size and where each comes from.',
    description: 'They are made now, as a node that boots would get them. At most 64 nodes.',
    example: {
      reply: {
        n1: { '/etc': 'directory 0755 0:0, from base', '/etc/motd': 'file 0644 0:0 20 bytes, from a template in base' },
      },
    },
  }),
  endpoint('GET /nodes/{noderange}/overlay/{file}', {
    command: lsoverlay,
    reply: 'attributes',
    args: (input) => ({ ...nodesOf(input), file: withSlash(input.params['file']!) }),
    summary: 'The content of a file of the overlays of nodes; secrets are hidden.',
    description: 'Slashes of the path are written %2F: %2Fetc%2Fmotd.',
    example: { path: '/nodes/n1/overlay/%2Fetc%2Fmotd', reply: { n1: { '/etc/motd': 'This is n1.\n' } } },
  }),
  endpoint('POST /nodes/{noderange}/overlay', {
    command: sendoverlay,
    reply: 'lines',
    body: members({
      action: Type.Optional(
        Type.Enum(['send', 'diff'], {
          description: 'send: place the files (absent: this); diff: change nothing and show what differs',
        }),
      ),
    }),
    args: (input) => ({ ...nodesOf(input), action: (input.body as { action?: 'send' | 'diff' }).action ?? 'send' }),
    summary: 'Bring running nodes the files of their overlays by SSH, or compare.',
    description:
      'The reply names each path that was missing or different on the node. Of diff it also has the lines that differ (- on the node, + of the overlay), but not of files with secrets or that not everybody on the node can read. A file is replaced as a whole or not at all. In directories that users can write to, files are placed only at boot. Files that an overlay no longer has stay on running nodes.',
    example: {
      body: { action: 'diff' },
      reply: {
        n1: [
          '/etc/motd: changed',
          '--- on the node',
          '+++ of the overlay',
          '@@ -1 +1 @@',
          '-This is n2.',
          '+This is n1.',
        ],
      },
    },
  }),
  endpoint('PUT /nodes/{noderange}/bootstate', {
    command: nodeset,
    body: members({
      osimage: Type.Optional(Type.String({ description: 'the name of an image' })),
      state: Type.Optional(
        Type.String({
          description:
            'boot, shell, standby, offline, shutdown, runcmd=COMMAND, runimage=URL, osimage[=NAME], next, enact, ondiscover=STATE:VALUE|...',
        }),
      ),
      force,
    }),
    args: (input) => ({ ...nodesOf(input), state: stateOf(input), ...isForced(input) }),
    summary: 'Choose what nodes do when they boot from the network.',
    description:
      'If a node cannot be brought to the state, or cannot boot the image as it is now, only that node fails. What decides the boot (image, kind, disk, and the pack that goes to a disk) is kept with the state; if the definition changes later so that the node would boot something else, its boot is refused until the state is set again. States separated by commas follow one another: those that are left are kept, and next takes them up. enact renews the reservations; ondiscover is kept until the machine of the node is discovered.',
    example: { body: { state: 'boot' } },
  }),
  endpoint('POST /nodes/{noderange}/provision', {
    command: rinstall,
    reply: 'attributes',
    body: members({
      osimage,
      state: Type.Optional(Type.String({ description: 'boot, shell, standby, runcmd=COMMAND, runimage=URL' })),
      force,
      media,
      seconds: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 604_800, description: 'that a node has to boot; absent: boot.timeout' }),
      ),
    }),
    args: (input) => ({
      ...nodesOf(input),
      state: givenState(input),
      ...isForced(input),
      ...fromMedia(input),
      seconds: (input.body as { seconds?: number }).seconds,
      watch: true,
    }),
    summary: 'Boot nodes with an image and wait until they are up.',
    description: `${provisionSteps} Then each is watched until it reports that it has booted; at most boot.atOnce nodes boot at a time. One that fails, or has not booted within its seconds, is reported with how far it came. Results come one by one on the NDJSON stream; GET /nodes/{noderange}/boot shows who is where meanwhile.`,
    example: {
      body: { osimage: 'rocky9-x86_64-netboot-compute' },
      reply: { n1: { provision: 'booted', seconds: '93' } },
    },
  }),
  endpoint('PUT /nodes/{noderange}/provision', {
    command: rinstall,
    body: members({
      osimage,
      action: Type.Optional(Type.String({ description: 'boot, shell, runcmd=COMMAND, osimage' })),
      force,
      media,
    }),
    args: (input) => ({
      ...nodesOf(input),
      state: givenState(input, 'action'),
      ...isForced(input),
      ...fromMedia(input),
      watch: false,
    }),
    summary: 'Boot nodes with an image; answers when they are powered on.',
    description: provisionSteps,
    example: { body: { osimage: 'rocky9-x86_64-netboot-compute' } },
  }),
];
