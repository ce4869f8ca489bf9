import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { readOptional } from '../../core/files.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { objectExists, storedAttribute } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import { imageNamed, installDirectory, listFiles, type NodeImage } from '../../objects/node-image.ts';
import { plainName } from '../bundles/bundle.ts';
import type { Images } from '../images.ts';
import type { Choice } from './choose-components.ts';
import { componentType, repoType } from './kit-tables.ts';
import {
  bootScriptsOf,
  exclusionsText,
  type KitSource,
  packagesText,
  parametersText,
  removalsText,
  runnerText,
  scriptFile,
  scriptsText,
} from './kit-texts.ts';

/** The files that kits give to an image, by their names in xCAT. */
const names = {
  parameters: 'KIT_DEPLOY_PARAMS.otherpkgs.pkglist',
  packages: 'KIT_COMPONENTS.otherpkgs.pkglist',
  exclusions: 'KIT_COMPONENTS.exlist',
  runner: 'KIT_COMPONENTS.postinstall',
  removals: 'KIT_RMPKGS.otherpkgs.pkglist',
} as const;

/** What becomes of the files of one image. */
export interface KitFiles {
  readonly directory: string;
  /** By name; empty: the file goes. */
  readonly texts: Readonly<Record<string, string>>;
  /** Where packages look for repositories, and where those of the kits are. */
  readonly links: readonly (readonly [link: string, target: string])[];
}

export interface KitPlan {
  readonly image: string;
  readonly files: KitFiles;
  readonly attributes: Readonly<Record<string, string>>;
  readonly messages: readonly string[];
}

export interface PlanOptions {
  readonly noscripts?: boolean | undefined;
  readonly uninstall?: boolean | undefined;
}

/** The files and attributes of an image that has just these components. All but the packages to remove follows from them. */
export function planFiles(
  snapshot: Snapshot,
  images: Images,
  choice: Choice,
  name: string,
  { noscripts, uninstall }: PlanOptions = {},
): KitPlan {
  const source = { snapshot, paths: images.paths };
  const reader = effectiveReader(snapshot);
  const image = imageNamed(reader, name);
  const directory = images.paths.place(snapshot, kitDirectory(reader, name), `${name}: its directory for kits`);
  const { components, added, dropped } = choice;
  const sources = packageDirectories(reader, image);
  const local = images.paths.place(snapshot, sources.find((each) => each.startsWith('/'))!, `${name}: otherpkgdir`);
  const isDiskless = image.method !== 'install';
  const scripts = isDiskless ? scriptsText(source, components) : {};
  const before = readOptional(join(directory, names.removals)) ?? '';
  const texts: Record<keyof typeof names, string> = {
    parameters: parametersText(source, components),
    packages: packagesText(source, components),
    exclusions: exclusionsText(source, components),
    runner: isDiskless ? runnerText(scripts, source, components, local) : '',
    removals: removalsText(before, components, uninstall ? dropped : []),
  };
  const own = (paths: readonly string[]): string[] => paths.filter((path) => !path.startsWith(`${directory}/`));
  const made = (...kinds: (keyof typeof names)[]): string[] =>
    kinds.filter((kind) => texts[kind] !== '').map((kind) => join(directory, names[kind]));
  const [others, exlists] = [
    own(listFiles(reader, image, 'otherpkglist', 'otherpkgs.pkglist')),
    own(listFiles(reader, image, 'exlist', 'exlist')),
  ];
  return {
    image: name,
    files: {
      directory,
      texts: {
        ...Object.fromEntries(
          dropped.flatMap(({ imageScripts }) => imageScripts.map((each) => [scriptFile(each), ''])),
        ),
        ...scripts,
        ...Object.fromEntries(Object.entries(names).map(([kind, file]) => [file, texts[kind as keyof typeof names]])),
      },
      links: components.flatMap(({ repo }) => {
        const target = storedAttribute(snapshot, repoType, repo, 'kitrepodir') ?? '';
        if (target === '') return [];
        images.paths.place(snapshot, target, `${repo}: kitrepodir`);
        return [[join(local, repo), target] as const];
      }),
    },
    attributes: {
      kitcomponents: components.map((component) => component.name).join(','),
      otherpkglist: [...made('parameters'), ...others, ...made('packages', 'removals')].join(','),
      exlist: [...exlists, ...made('exclusions')].join(','),
      postinstall: [...own(listItems(image.attribute('postinstall'))), ...made('runner')].join(','),
      ...(components.length > 0 ? { otherpkgdir: sources.join(',') } : {}),
      ...(noscripts ? {} : { postbootscripts: bootScripts(source, image, choice, isDiskless) }),
    },
    messages: [
      ...listItems(image.attribute('kitcomponents'))
        .filter((each) => !objectExists(snapshot, componentType, each))
        .map((each) => `The kit component ${each} is not defined any more, and ${name} loses it.`),
      ...choice.messages,
      ...added.flatMap(({ name: component, drivers }) =>
        drivers.length === 0
          ? []
          : `The driver packages of ${component} (${drivers.join(', ')}) are not used: unpack them into a directory and name that in driverupdatesrc of the image.`,
      ),
    ],
  };
}

function kitDirectory(reader: EffectiveReader, image: string): string {
  if (plainName.test(image)) return join(installDirectory(reader), 'osimages', image, 'kits');
  throw new Fault('invalid', `The name of the image ${image} cannot be part of a path, so it takes in no kits.`);
}

/** Where the image has packages of others; one of them is a directory here, if need be the usual one. */
function packageDirectories(reader: EffectiveReader, { name, os, arch, attribute }: NodeImage): string[] {
  const named = attribute('otherpkgdir')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
  if (named.some((each) => each.startsWith('/'))) return named;
  if (os === '' || arch === '')
    throw new Fault(
      'invalid',
      `${name}: set otherpkgdir, or osvers and osarch: without them there is no directory for the repositories of kits.`,
    );
  return [join(installDirectory(reader), 'post/otherpkgs', os, arch), ...named];
}

/** Scripts of components that came are added; of those that went they go, unless another component has them too. */
function bootScripts(source: KitSource, image: NodeImage, choice: Choice, isDiskless: boolean): string {
  const { components, added, dropped } = choice;
  const scriptsOf = (some: Choice['components']): string[] =>
    some.flatMap((component) => bootScriptsOf(source, component, isDiskless));
  const kept = scriptsOf(components);
  const gone = scriptsOf(dropped).filter((script) => !kept.includes(script));
  const present = listItems(image.attribute('postbootscripts')).filter((script) => !gone.includes(script));
  return [...new Set([...present, ...scriptsOf(added)])].join(',');
}
