import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { programFile } from '../core/home.ts';
import type { Snapshot } from '../database/snapshot.ts';
import {
  defineKit,
  type KitAdded,
  type KitJob,
  type KitRemoval,
  type KitRemoved,
  kitsNamed,
  planAddKit,
  planRemoveKit,
  undefineKit,
} from '../images/index.ts';
import { long } from './long.ts';

/** A basename may mean several kits; each is removed by a request of its own. */
function onlyKit(snapshot: Snapshot, name: string): string {
  const [kit, second] = kitsNamed(snapshot, name);
  if (second === undefined) return kit!;
  throw new Fault(
    'invalid',
    `${name} is the basename of several kits: name one of ${kitsNamed(snapshot, name).join(', ')}.`,
  );
}

const addArguments = Type.Object({
  file: Type.String({ description: 'the path of the kit here: a tar archive, or a directory' }),
  path: Type.Optional(Type.String({ description: 'the directory to put it in; absent: INSTALLDIR/kits' })),
  inspect: Type.Optional(Type.Boolean({ description: 'only say what it is' })),
});

/** Unpacks a software kit and defines it with its repositories and components. */
export const addkit = long({
  name: 'addkit',
  args: addArguments,
  uses: ['images', 'remote'],
  line: ({ file, path, inspect }) => [...(inspect ? ['-i'] : []), ...(path === undefined ? [] : ['-p', path]), file],
  // Two files may hold the same kit, so only one kit is added at a time.
  subject: ({ file, inspect }) => (inspect ? `kit ${file}` : 'the directory of kits'),
  prepare(snapshot, { file, path, inspect }, { images, remote, caller }): KitJob {
    const real = caller.hasFullRights()
      ? remote.sources.everywhere.admit(file)
      : images.paths.source(snapshot, file, 'The kit');
    return planAddKit(snapshot, images, { file: real, path, inspect, postscripts: remote.postscripts });
  },
  module: programFile('images/kits/add-kit'),
  plan(draft, { made }: KitAdded, _, { ranges }) {
    if (made) defineKit(draft, made, ranges);
  },
});

const removeArguments = Type.Object({
  kit: Type.String({ description: 'the name of one kit' }),
  force: Type.Optional(Type.Boolean({ description: 'also if images have components of it, which then lose them' })),
});

/** Removes what addkit has made, with its definitions. */
export const rmkit = long({
  name: 'rmkit',
  args: removeArguments,
  uses: ['images', 'remote'],
  line: ({ kit, force }) => [...(force ? ['-f'] : []), kit],
  select: (snapshot, { kit }) => ({ objects: [onlyKit(snapshot, kit)], nodes: undefined }),
  subject: ({ kit }) => `kit ${kit}`,
  prepare: (snapshot, { kit, force }, { images, remote }): KitRemoval =>
    planRemoveKit(snapshot, images, onlyKit(snapshot, kit), {
      postscripts: remote.postscripts,
      force,
    }),
  module: programFile('images/kits/remove-kit'),
  plan: (draft, _removed: KitRemoved, { kit }, { images, ranges }) =>
    undefineKit(draft, images, onlyKit(draft.base, kit), ranges),
  answer: ({ messages }: KitRemoved) => ({ shape: 'none', messages }),
});
