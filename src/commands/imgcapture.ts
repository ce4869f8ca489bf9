import { Type } from 'typebox';
import { Fault, unlessFault } from '../core/errors.ts';
import { programFile } from '../core/home.ts';
import { type Captured, type CaptureJob, defineImage, planCapture } from '../images/index.ts';
import { actingUser } from '../nodes/index.ts';
import { type Arguments, nodeArguments, selectNodes } from './command.ts';
import { long } from './long.ts';

const args = Type.Object({
  ...nodeArguments,
  image: Type.String({ description: 'the image that is made' }),
  type: Type.Enum(['diskless', 'sysclone']),
  profile: Type.Optional(Type.String({ description: 'of an image that is not defined yet; absent: that of the node' })),
  exlist: Type.Optional(Type.String({ description: 'the path of a list of what is left out' })),
  netdrivers: Type.Optional(Type.String({ description: 'network drivers for the initial RAM disk' })),
});

const words = ({ type, image, profile, exlist, netdrivers }: Arguments<typeof args>): string[] => [
  '-t',
  type,
  '-o',
  image,
  ...(profile === undefined ? [] : ['-p', profile]),
  ...(netdrivers === undefined ? [] : ['-n', netdrivers]),
  ...(exlist === undefined ? [] : ['--exlist', exlist]),
];

/** Makes an image of a running node. */
export const imgcapture = long({
  name: 'imgcapture',
  args,
  uses: ['images', 'remote'],
  line: words,
  select: selectNodes,
  // It reads all of a node, and what it makes may boot on any.
  *questions(_snapshot, given) {
    yield;
    return [
      { words: words(given), nodes: given.range.split(',') },
      { words: words(given), nodes: undefined },
    ];
  },
  subject: ({ image }) => `image ${image}`,
  async prepare(snapshot, given, { images, remote, caller, selection }): Promise<CaptureJob> {
    const [node = '', ...others] = selection.nodes ?? [];
    if (others.length > 0 || node !== given.range)
      throw new Fault('invalid', `An image is captured from one node: name it, instead of ${given.range}.`);
    const asking = { ...caller, command: 'imgcapture', nodes: [node] };
    const line = words(given).join(' ');
    const user = actingUser(snapshot, asking, undefined, () => line);
    if (user !== 'root')
      throw new Fault(
        'denied',
        `imgcapture reads all files of ${node} and needs root there; "${caller.user}" acts as "${user}" on nodes.`,
      );
    const target = unlessFault(await remote.targets(snapshot, user)(node));
    return planCapture(snapshot, images, { ...given, node, by: caller.user }, { target, access: remote.access });
  },
  module: programFile('images/capture/capture'),
  plan: (draft, { image, attributes }: Captured, _, { ranges }) =>
    defineImage(draft, { did: 'made', image, attributes }, ranges),
});
