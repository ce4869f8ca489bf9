import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { RangeOptions } from '../../objects/cluster.ts';
import { changeObject, createObject, removeObject } from '../../objects/define.ts';
import { objectExists, objectNames, storedAttribute } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { type ObjectType, typeNamed } from '../../objects/types.ts';
import type { Images } from '../images.ts';
import type { KitJob, KitMade } from './add-kit.ts';
import { definedComponents, withoutNamed } from './choose-components.ts';
import type { KitAttributes } from './kit-conf.ts';
import { type KitPlan, planFiles } from './kit-files.ts';
import { allComponents, componentsOfKit, componentType, kitType, plainPart, repoType } from './kit-tables.ts';
import type { KitRemoval } from './remove-kit.ts';

const osimage = typeNamed('osimage');

export interface KitRequest {
  /** The real path of the kit. */
  readonly file: string;
  readonly path?: string | undefined;
  readonly inspect?: boolean | undefined;
  readonly postscripts: string;
}

export function planAddKit(snapshot: Snapshot, images: Images, request: KitRequest): KitJob {
  const { file, path, inspect, postscripts } = request;
  if (file.includes('NEED_PRODUCT_PKGS'))
    throw new Fault('invalid', `${file} is a partial kit: complete it with the packages of the product first.`, {
      reference: [`Not allowed to add partial kit ${file}`],
    });
  const usual = join(images.paths.installDirectory(snapshot), 'kits');
  return {
    file,
    directory: images.paths.place(snapshot, path ?? usual, 'The directory of kits'),
    postscripts,
    inspects: inspect === true,
    taken: {
      kit: objectNames(snapshot, kitType),
      kitrepo: objectNames(snapshot, repoType),
      kitcomponent: objectNames(snapshot, componentType),
    },
  };
}

/** Defines a kit with all that belongs to it. What kit.conf says beyond the columns of the tables is for those who build kits. */
export function defineKit(draft: Draft, { kit, repos, components }: KitMade, ranges: RangeOptions): void {
  const define = (type: ObjectType, key: string, attributes: KitAttributes): void => {
    const name = attributes[key]!;
    if (objectExists(draft.base, type, name))
      throw new Fault('conflict', `The ${type.name} ${name} was defined by somebody else meanwhile.`);
    const known = Object.entries(attributes).filter(([each]) => each !== key && type.attributes.has(each));
    createObject(draft, type, name, Object.fromEntries(known), ranges);
  };
  define(kitType, 'kitname', kit);
  for (const repo of repos) define(repoType, 'kitreponame', repo);
  for (const component of components) define(componentType, 'kitcompname', component);
}

/** The images that have components of a kit, each with these. */
export function usersOfKit(snapshot: Snapshot, kit: string): Map<string, string[]> {
  const own = componentsOfKit(snapshot, kit).map(({ name }) => name);
  const users = new Map<string, string[]>();
  for (const image of objectNames(snapshot, osimage)) {
    const used = componentsOfImage(snapshot, image).filter((name) => own.includes(name));
    if (used.length > 0) users.set(image, used);
  }
  return users;
}

export const componentsOfImage = (snapshot: Snapshot, image: string): readonly string[] =>
  listItems(storedAttribute(snapshot, osimage, image, 'kitcomponents') ?? '');

/** What becomes of the images that have components of a kit. */
const planUsers = (snapshot: Snapshot, images: Images, kit: string): KitPlan[] =>
  [...usersOfKit(snapshot, kit)].map(([image, used]) => {
    const present = definedComponents(snapshot, componentsOfImage(snapshot, image));
    return planFiles(snapshot, images, withoutNamed(snapshot, image, present, used, true), image);
  });

/** Kits that xCAT marks as parts of itself stay. */
export function planRemoveKit(
  snapshot: Snapshot,
  images: Images,
  kit: string,
  { postscripts, force = false }: { readonly postscripts: string; readonly force?: boolean | undefined },
): KitRemoval {
  const stored = (attribute: string): string => storedAttribute(snapshot, kitType, kit, attribute) ?? '';
  if (stored('isinternal') === '1')
    throw new Fault('invalid', `The kit ${kit} is internal (its attribute isinternal is 1) and stays.`);
  const users = [...usersOfKit(snapshot, kit)];
  if (users.length > 0 && !force) {
    const uses = users.flatMap(([image, used]) => used.map((name) => [name, image] as const));
    throw new Fault(
      'invalid',
      [
        `The kit ${kit} stays: ${uses.map(([name, image]) => `${image} has its component ${name}`).join(', ')}.`,
        'Remove the components from the images first, or use force, which removes them from these images too.',
      ],
      {
        reference: uses.map(
          ([name, image]) => `Failed to remove kit component ${name} because:${name} is being used by osimage ${image}`,
        ),
      },
    );
  }
  const scriptsOf = (some: ReturnType<typeof allComponents>): string[] =>
    some.flatMap(({ bootScripts, imageScripts }) => [...bootScripts, ...imageScripts]);
  const others = scriptsOf(allComponents(snapshot).filter((component) => component.kit !== kit));
  const directory = stored('kitdir');
  return {
    kit,
    ...(directory === '' ? {} : { directory: images.paths.place(snapshot, directory, `${kit}: kitdir`) }),
    postscripts,
    scripts: [...new Set(scriptsOf(componentsOfKit(snapshot, kit)))].filter((script) => !others.includes(script)),
    files: planUsers(snapshot, images, kit).map(({ files }) => files),
    links: reposOf(snapshot, kit).flatMap((repo) =>
      packageDirectories(snapshot).map(
        (at) =>
          [
            join(at, plainPart(repo, `the kit ${kit}`, 'kitreponame')),
            storedAttribute(snapshot, repoType, repo, 'kitrepodir') ?? '',
          ] as const,
      ),
    ),
  };
}

export const reposOf = (snapshot: Snapshot, kit: string): string[] =>
  objectNames(snapshot, repoType).filter((repo) => storedAttribute(snapshot, repoType, repo, 'kitname') === kit);

/** Where images look for packages of others. */
const packageDirectories = (snapshot: Snapshot): string[] => [
  ...new Set(
    objectNames(snapshot, osimage).flatMap((image) =>
      listItems(storedAttribute(snapshot, osimage, image, 'otherpkgdir') ?? '').filter((path) => path.startsWith('/')),
    ),
  ),
];

/** Takes a kit out of the database, and its components out of all images. */
export function undefineKit(draft: Draft, images: Images, kit: string, ranges: RangeOptions): void {
  for (const { image, attributes } of planUsers(draft.base, images, kit))
    changeObject(draft, osimage, image, attributes, 'set', ranges);
  for (const { name } of componentsOfKit(draft.base, kit)) removeObject(draft, componentType, name);
  for (const repo of reposOf(draft.base, kit)) removeObject(draft, repoType, repo);
  removeObject(draft, kitType, kit);
}
