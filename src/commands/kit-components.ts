import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { programFile } from '../core/home.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import {
  componentsNamed,
  componentsOfImage,
  definedComponents,
  type Images,
  type KitFilesJob,
  type KitFilesWritten,
  type KitPlan,
  misfitOfImage,
  planFiles,
  wantedComponents,
  withAdded,
  withoutNamed,
} from '../images/index.ts';
import type { RangeOptions } from '../objects/cluster.ts';
import { changeObject } from '../objects/define.ts';
import { typeNamed } from '../objects/types.ts';
import { type Arguments, query } from './command.ts';
import { imageArgument, imageSubject, selectImage } from './image.ts';
import { long } from './long.ts';

const osimage = typeNamed('osimage');
const names = Type.Array(Type.String({ minLength: 1 }), {
  description: 'full names or basenames of kit components',
  minItems: 1,
  maxItems: 1_000,
});

const addArguments = Type.Object({
  ...imageArgument,
  components: names,
  adddeps: Type.Optional(Type.Boolean({ description: 'add the components that these need, too' })),
  force: Type.Optional(Type.Boolean({ description: 'also if they do not fit the image, or lack what they need' })),
  noupgrade: Type.Optional(Type.Boolean({ description: 'keep older versions of the same components beside them' })),
  noscripts: Type.Optional(Type.Boolean({ description: 'do not add their scripts to postbootscripts' })),
});

const words = (
  { components, image }: { readonly components: readonly string[]; readonly image: string },
  options: Readonly<Record<string, boolean | undefined>>,
): string[] => [
  ...Object.entries(options).flatMap(([word, isSet]) => (isSet ? [word] : [])),
  '-i',
  image,
  components.join(','),
];

function planAdded(snapshot: Snapshot, images: Images, args: Arguments<typeof addArguments>): KitPlan {
  const { image, components, ...options } = args;
  const present = definedComponents(snapshot, componentsOfImage(snapshot, image));
  const wanted = wantedComponents(snapshot, image, components, options, present);
  return planFiles(snapshot, images, withAdded(image, present, wanted, options), image, options);
}

/** The definition follows from what is stored now: somebody may have changed the image while its files were written. */
const define = (draft: Draft, { image, attributes }: KitPlan, ranges: RangeOptions): void =>
  changeObject(draft, osimage, image, attributes, 'set', ranges);

const job = ({ image, files, messages }: KitPlan): KitFilesJob => ({ image, files, messages });
const module = programFile('images/kits/write-kit-files');
const answer = ({ messages }: KitFilesWritten) => ({ shape: 'none', messages }) as const;

/** Lets an image take in components of kits. */
export const addkitcomp = long({
  name: 'addkitcomp',
  args: addArguments,
  uses: ['images'],
  line: (args) =>
    words(args, { '-a': args.adddeps, '-f': args.force, '-n': args.noupgrade, '--noscripts': args.noscripts }),
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, args, { images }): KitFilesJob => job(planAdded(snapshot, images, args)),
  module,
  plan: (draft, _: KitFilesWritten, args, { images, ranges }) =>
    define(draft, planAdded(draft.base, images, args), ranges),
  answer,
});

const removeArguments = Type.Object({
  ...imageArgument,
  components: names,
  force: Type.Optional(Type.Boolean({ description: 'also if other components of the image need them' })),
  noscripts: Type.Optional(Type.Boolean({ description: 'leave their scripts in postbootscripts' })),
  uninstall: Type.Optional(Type.Boolean({ description: 'list their packages for removal' })),
});

function planRemoved(snapshot: Snapshot, images: Images, args: Arguments<typeof removeArguments>): KitPlan {
  const { image, components, force = false, ...options } = args;
  const present = definedComponents(snapshot, componentsOfImage(snapshot, image));
  return planFiles(snapshot, images, withoutNamed(snapshot, image, present, components, force), image, options);
}

/** Takes components of kits out of an image. */
export const rmkitcomp = long({
  name: 'rmkitcomp',
  args: removeArguments,
  uses: ['images'],
  line: (args) => words(args, { '-u': args.uninstall, '-f': args.force, '--noscripts': args.noscripts }),
  select: selectImage,
  subject: imageSubject,
  prepare: (snapshot, args, { images }): KitFilesJob => job(planRemoved(snapshot, images, args)),
  module,
  plan: (draft, _: KitFilesWritten, args, { images, ranges }) =>
    define(draft, planRemoved(draft.base, images, args), ranges),
  answer,
});

/** Whether components of kits fit an image, whatever it has now. */
export const chkkitcomp = query({
  name: 'chkkitcomp',
  args: Type.Object({ ...imageArgument, components: names }),
  line: (args) => words(args, {}),
  select: selectImage,
  run(snapshot, { image, components }) {
    const problems = components.flatMap((name) => {
      const [component] = componentsNamed(snapshot, name);
      const attribute = misfitOfImage(snapshot, component!, image);
      return attribute === undefined
        ? []
        : `The kit component ${component!.name} does not fit the image ${image}: they differ in ${attribute}.`;
    });
    if (problems.length > 0) throw new Fault('invalid', problems);
    const found = wantedComponents(snapshot, image, components, {}, []);
    return { shape: 'list', items: found.map(({ name }) => name) };
  },
});
