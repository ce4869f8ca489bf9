import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { objectAttributes, objectExists, objectNames } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { typeNamed } from '../../objects/types.ts';
import { plainName } from '../bundles/bundle.ts';

export const kitType = typeNamed('kit');
export const repoType = typeNamed('kitrepo');
export const componentType = typeNamed('kitcomponent');

/** A kit component as the tables have it. */
export interface Component {
  readonly name: string;
  readonly basename: string;
  readonly version: string;
  readonly release: string;
  readonly kit: string;
  readonly repo: string;
  readonly roles: readonly string[];
  /** Basenames, some with a version: `license>=1.0`. */
  readonly needs: readonly string[];
  readonly packages: readonly string[];
  /** A package that is installed in a step before; empty: none. */
  readonly prerequisite: string;
  readonly drivers: readonly string[];
  readonly bootScripts: readonly string[];
  readonly imageScripts: readonly string[];
  readonly exclusions: string;
}

export function componentOf(snapshot: Snapshot, name: string): Component {
  const row = objectAttributes(snapshot, componentType, name);
  const text = (attribute: string): string => row[attribute] ?? '';
  const list = (attribute: string): readonly string[] => listItems(text(attribute));
  const files = (attribute: string): readonly string[] =>
    list(attribute).map((each) => plainPart(each, `the kit component ${name}`, attribute));
  return {
    name,
    basename: text('basename'),
    version: text('version'),
    release: text('release'),
    kit: text('kitname'),
    repo: plainPart(text('kitreponame'), `the kit component ${name}`, 'kitreponame'),
    roles: list('serverroles'),
    needs: list('kitcompdeps'),
    packages: list('kitpkgdeps'),
    prerequisite: text('prerequisite'),
    drivers: list('driverpacks'),
    bootScripts: files('postbootscripts'),
    imageScripts: files('genimage_postinstall'),
    exclusions: plainPart(text('exlist'), `the kit component ${name}`, 'exlist'),
  };
}

/** A name from the tables that becomes a part of paths; anybody may have written it. */
export function plainPart(value: string, owner: string, attribute: string): string {
  if (value === '' || plainName.test(value)) return value;
  throw new Fault(
    'invalid',
    `${attribute} ${JSON.stringify(value)} of ${owner} is not a name of letters, digits and ._+-, as the files of kits have. Correct that attribute, or remove the definition.`,
  );
}

export const allComponents = (snapshot: Snapshot): Component[] =>
  objectNames(snapshot, componentType).map((name) => componentOf(snapshot, name));

/** The component of that full name, or all of that basename, the newest first. */
export function componentsNamed(snapshot: Snapshot, name: string): Component[] {
  if (objectExists(snapshot, componentType, name)) return [componentOf(snapshot, name)];
  const found = allComponents(snapshot).filter(({ basename }) => basename === name);
  if (found.length === 0)
    throw new Fault('invalid', `There is no kit component ${name}; GET /kitcomponents lists them.`, {
      reference: [`${name} kitcomponent does not exist`],
      missing: [name],
    });
  return found.toSorted((a, b) => compareVersions(versionOf(b), versionOf(a)));
}

/** The kit of that full name, or all of that basename. */
export function kitsNamed(snapshot: Snapshot, name: string): string[] {
  if (objectExists(snapshot, kitType, name)) return [name];
  const found = objectNames(snapshot, kitType).filter(
    (kit) => objectAttributes(snapshot, kitType, kit)['basename'] === name,
  );
  if (found.length === 0)
    throw new Fault('unknown-object', `There is no kit ${name}; GET /kits lists them.`, {
      reference: [`Kit ${name} could not be found in DB kit`],
      missing: [name],
    });
  return found;
}

export const componentsOfKit = (snapshot: Snapshot, kit: string): Component[] =>
  allComponents(snapshot).filter((component) => component.kit === kit);

export const versionOf = ({ version, release }: Pick<Component, 'version' | 'release'>): string =>
  release === '' ? version : `${version}-${release}`;

const partsOf = (version: string): readonly string[] => version.match(/\d+|[A-Za-z]+/g) ?? [];

/** Negative: the first is older. Numbers in versions count as numbers, and a version that goes on is newer. */
export function compareVersions(one: string, other: string): number {
  const [ours, theirs] = [partsOf(one), partsOf(other)];
  for (let at = 0; at < Math.max(ours.length, theirs.length); at++) {
    const [a, b] = [ours[at], theirs[at]];
    if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
    const areNumbers = /^\d/.test(a) && /^\d/.test(b);
    const difference = areNumbers ? Number(a) - Number(b) : a === b ? 0 : a < b ? -1 : 1;
    if (difference !== 0) return difference;
  }
  return 0;
}

const relations: Readonly<Record<string, (difference: number) => boolean>> = {
  '<': (difference) => difference < 0,
  '<=': (difference) => difference <= 0,
  '=': (difference) => difference === 0,
  '==': (difference) => difference === 0,
  '>=': (difference) => difference >= 0,
  '>': (difference) => difference > 0,
};

/** Whether a version is as `>=2` says; one without a sign is meant itself. */
export function isVersion(version: string, wanted: string): boolean {
  const [, sign = '=', other = ''] = /^\s*(<=|>=|==|=|<|>)?\s*(.*)$/.exec(wanted)!;
  return relations[sign]!(compareVersions(version, other));
}

/** `license>=1.0` apart; the version is empty where none is named. */
export function parseNeed(need: string): { readonly basename: string; readonly version: string } {
  const [, basename = '', version = ''] = /^([^<>=\s]+)\s*(.*)$/.exec(need) ?? [];
  return { basename, version };
}
