import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { objectExists } from '../../objects/definitions.ts';
import { misfitOfImage } from './compatibility.ts';
import {
  allComponents,
  compareVersions,
  type Component,
  componentOf,
  componentsNamed,
  componentType,
  isVersion,
  parseNeed,
  versionOf,
} from './kit-tables.ts';

export interface AddOptions {
  readonly adddeps?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly noupgrade?: boolean | undefined;
}

/** The components of an image after some were added to it or taken from it, and what to say of each. */
export interface Choice {
  readonly components: readonly Component[];
  /** Those that came. */
  readonly added: readonly Component[];
  /** Those that went. */
  readonly dropped: readonly Component[];
  readonly messages: readonly string[];
}

/** The components of an image that are still defined. */
export const definedComponents = (snapshot: Snapshot, names: readonly string[]): Component[] =>
  names.filter((name) => objectExists(snapshot, componentType, name)).map((name) => componentOf(snapshot, name));

/** The newest component that a name means and that fits the image. */
function fitting(snapshot: Snapshot, image: string, found: readonly Component[], force: boolean): Component {
  const fits = found.find((component) => misfitOfImage(snapshot, component, image) === undefined);
  const [first] = found;
  if (fits ?? force) return fits ?? first!;
  const attribute = misfitOfImage(snapshot, first!, image);
  throw new Fault(
    'invalid',
    `The kit component ${first!.name} does not fit the image ${image}: they differ in ${attribute}. To add it all the same, use force.`,
    { reference: [`osimage ${image} is not compatible with kit component ${first!.name} with attribute ${attribute}`] },
  );
}

/** Those that a component needs, each the newest that fits; empty: it needs none, or all that are missing may be missing. */
function needsOf(snapshot: Snapshot, image: string, component: Component, force: boolean): Component[] {
  return component.needs.flatMap((need) => {
    const { basename, version } = parseNeed(need);
    const found = allComponents(snapshot)
      .filter((each) => each.basename === basename && (version === '' || isVersion(versionOf(each), version)))
      .toSorted((a, b) => compareVersions(versionOf(b), versionOf(a)));
    if (found.length > 0) return fitting(snapshot, image, found, force);
    if (force) return [];
    throw new Fault(
      'invalid',
      `${component.name} needs the kit component ${need}, and no kit has it; add its kit first.`,
      {
        reference: [`Cannot find any matched kit component for kit component ${component.name} dependency ${basename}`],
      },
    );
  });
}

/** What was asked for with what it needs, what is needed first. */
export function wantedComponents(
  snapshot: Snapshot,
  image: string,
  names: readonly string[],
  { adddeps = false, force = false }: AddOptions,
  present: readonly Component[],
): Component[] {
  const named = names.map((name) => fitting(snapshot, image, componentsNamed(snapshot, name), force));
  const wanted: Component[] = [];
  const take = (component: Component, above: readonly string[]): void => {
    if (wanted.some(({ name }) => name === component.name) || above.includes(component.name)) return;
    for (const need of needsOf(snapshot, image, component, force)) {
      const isThere = [...present, ...named].some(({ basename }) => basename === need.basename);
      if (adddeps || isThere) {
        if (!present.some(({ basename }) => basename === need.basename)) take(need, [...above, component.name]);
      } else if (!force)
        throw new Fault(
          'invalid',
          `${component.name} needs the kit component ${need.name}, which ${image} does not have. To add it too, use adddeps; to do without it, use force.`,
          {
            reference: [
              `kit component dependency ${need.name} for kit component ${component.name} is not existing in osimage or specified in command line`,
            ],
          },
        );
    }
    wanted.push(component);
  };
  for (const component of named) take(component, []);
  return wanted;
}

/** A newer component takes the place of an older one, unless both are wanted. */
export function withAdded(
  image: string,
  present: readonly Component[],
  wanted: readonly Component[],
  { noupgrade = false }: AddOptions,
): Choice {
  let components = [...present];
  const added: Component[] = [];
  const dropped: Component[] = [];
  const messages: string[] = [];
  for (const component of wanted) {
    messages.push(`Assigning kit component ${component.name} to osimage ${image}`);
    if (components.some(({ name }) => name === component.name)) {
      messages.push(`${component.name} kit component is already in osimage ${image}`);
      continue;
    }
    const older = noupgrade ? [] : components.filter(({ basename }) => basename === component.basename);
    const newer = older.find((each) => compareVersions(versionOf(each), versionOf(component)) > 0);
    if (newer)
      throw new Fault(
        'invalid',
        `${image} has the kit component ${newer.name}, which is newer than ${component.name}. Remove it first (DELETE /osimages/${image}/kitcomponents/${newer.name}), or add both with noupgrade.`,
        {
          reference: [
            `kit component ${newer.name} is already in osimage ${image}, and has a newer release/version than ${component.name}.  Downgrading kit component is not supported`,
          ],
        },
      );
    for (const each of older) messages.push(`Upgrading kit component ${each.name} to ${component.name}`);
    components = [...components.filter((each) => !older.includes(each)), component];
    added.push(component);
    dropped.push(...older);
  }
  return { components, added, dropped, messages };
}

/** Refuses to take what others of the image need. */
export function withoutNamed(
  snapshot: Snapshot,
  image: string,
  present: readonly Component[],
  names: readonly string[],
  force: boolean,
): Choice {
  const dropped = names.flatMap((name) => {
    const found = present.filter((component) => component.name === name || component.basename === name);
    if (found.length > 0) return found;
    componentsNamed(snapshot, name);
    throw new Fault('invalid', `The image ${image} does not have the kit component ${name}.`, {
      reference: [`${name} kit components are not assigned to osimage ${image}`],
    });
  });
  const components = present.filter((component) => !dropped.includes(component));
  for (const { name, basename } of dropped) {
    const user = components.find(({ needs }) => needs.some((need) => parseNeed(need).basename === basename));
    const isLast = !components.some((each) => each.basename === basename);
    if (user && isLast && !force)
      throw new Fault(
        'invalid',
        `The kit component ${name} stays: ${user.name} of ${image} needs it. To remove it all the same, use force.`,
        {
          reference: [
            `Failed to remove kitcomponent ${name} because ${user.name} is still depending on it.  Use -f option to remove it anyway`,
          ],
        },
      );
  }
  const messages = dropped.map(({ name }) => `Removing kitcomponent ${name} from osimage ${image}`);
  return { components, added: [], dropped, messages };
}
