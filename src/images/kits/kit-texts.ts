import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { readOptional } from '../../core/files.ts';
import { withEnvironment } from '../../core/shell-words.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { storedAttribute } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import type { ImagePaths } from '../paths.ts';
import { otherFilesName, parseDeployParameters } from './kit-conf.ts';
import { type Component, kitType, plainPart } from './kit-tables.ts';

/** Definitions of kits, and what judges where their files are. */
export interface KitSource {
  readonly snapshot: Snapshot;
  readonly paths: ImagePaths;
}

/** The path of a script or list of a kit. */
function otherFile({ snapshot, paths }: KitSource, kit: string, name: string): string {
  const directory = storedAttribute(snapshot, kitType, kit, 'kitdir') ?? '';
  if (directory === '')
    throw new Fault(
      'invalid',
      `The kit ${kit} has no kitdir, so its files cannot be found. Remove it and add it again.`,
    );
  paths.place(snapshot, directory, `${kit}: kitdir`);
  return join(directory, otherFilesName, name);
}

function readOther(source: KitSource, kit: string, name: string): string {
  const path = otherFile(source, kit, name);
  const text = readOptional(path);
  if (text === undefined) throw new Fault('invalid', `${path} of the kit ${kit} cannot be read.`);
  return text;
}

const parametersFile = ({ snapshot }: KitSource, kit: string): string =>
  plainPart(storedAttribute(snapshot, kitType, kit, 'kitdeployparams') ?? '', `the kit ${kit}`, 'kitdeployparams');

/** The deployment parameters of a kit. */
export function deployParameters(source: KitSource, kit: string): [name: string, value: string][] {
  const name = parametersFile(source, kit);
  return name === '' ? [] : parseDeployParameters(readOther(source, kit, name));
}

const included = (path: string): string => `#INCLUDE:${path}#\n`;

function parametersLine(source: KitSource, kit: string): string {
  const name = parametersFile(source, kit);
  return name === '' ? '' : included(otherFile(source, kit, name));
}

/** Variables for the package manager, of all kits that have components in the image. */
export const parametersText = (source: KitSource, components: readonly Component[]): string =>
  [...new Set(components.map(({ kit }) => parametersLine(source, kit)))].join('');

export const exclusionsText = (source: KitSource, components: readonly Component[]): string =>
  [
    ...new Set(
      components.flatMap(({ kit, exclusions }) =>
        exclusions === '' ? [] : included(otherFile(source, kit, exclusions)),
      ),
    ),
  ].join('');

/** A component that has a prerequisite, or an older sister in the image, is installed in a step of its own. */
export function packagesText(source: KitSource, components: readonly Component[]): string {
  const step = (kit: string): string => `#NEW_INSTALL_LIST#\n${parametersLine(source, kit)}`;
  let text = '';
  for (const [at, { repo, basename, prerequisite, kit }] of components.entries()) {
    const before = listItems(prerequisite).map((each) => `${repo}/${each}\n`);
    if (before.length > 0) text += step(kit) + before.join('');
    const isSecond = components.slice(0, at).some((each) => each.basename === basename);
    text += `${before.length > 0 || isSecond ? step(kit) : ''}${repo}/${basename}\n`;
  }
  return text;
}

/** What is still to be removed: what was asked for before and now, without what a component of the image brings back. */
export function removalsText(before: string, components: readonly Component[], removed: readonly Component[]): string {
  const packagesOf = ({ basename, prerequisite, packages }: Component): string[] => [
    basename,
    ...listItems(prerequisite),
    ...packages,
  ];
  const kept = new Set(components.flatMap(packagesOf));
  const earlier = before.split('\n').flatMap((line) => /^-([^-\s]\S*)$/.exec(line.trim())?.[1] ?? []);
  const wanted = [...new Set([...earlier, ...removed.flatMap(packagesOf)])].filter((each) => !kept.has(each));
  return wanted.map((each) => `-${each}\n`).join('');
}

const diskless = '#FLAG FOR DISKLESS ONLY#';

/** Scripts for nodes. Where installers make the tree, these run what is meant for it too, unless a script says otherwise. */
export const bootScriptsOf = (
  source: KitSource,
  { kit, bootScripts, imageScripts }: Component,
  isDiskless: boolean,
): string[] => [
  ...bootScripts,
  ...(isDiskless ? [] : imageScripts.filter((name) => !readOptional(otherFile(source, kit, name))?.includes(diskless))),
];

const scriptPrefix = 'KIT_SCRIPT.';
export const scriptFile = (name: string): string => `${scriptPrefix}${name}`;

export const scriptsText = (source: KitSource, components: readonly Component[]): Record<string, string> =>
  Object.fromEntries(
    components.flatMap(({ kit, imageScripts }) =>
      imageScripts.map((name) => [scriptFile(name), readOther(source, kit, name)]),
    ),
  );

/** Runs the scripts of kits in the tree of a diskless image; they lie beside it, in the directory that is its fifth argument. */
export function runnerText(
  scripts: Readonly<Record<string, string>>,
  source: KitSource,
  components: readonly Component[],
  otherpkgdir: string,
): string {
  const lines = components.flatMap(({ kit, imageScripts }) =>
    imageScripts.flatMap((name) => {
      const environment = { ...Object.fromEntries(deployParameters(source, kit)), installroot: '/', otherpkgdir };
      // The sum makes it another text when the script changes, so that the image is built again.
      const sum = createHash('sha256').update(scripts[scriptFile(name)]!).digest('hex');
      return [`# ${sum}`, `( ${withEnvironment(environment, `"$5"/${scriptFile(name)} "$@"`)} ) || exit`];
    }),
  );
  return lines.length === 0 ? '' : `#!/bin/sh\n${lines.join('\n')}\n`;
}
