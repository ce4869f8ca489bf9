import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { shippedImageFiles } from '../../core/home.ts';
import { familyOf, installerProblem, platformOf } from '../../objects/distributions.ts';
import type { NodeImage } from '../../objects/node-image.ts';
import { usualDirectory } from '../image-job.ts';
import type { Family, Release } from './medium.ts';
import { ownSystem } from './own-system.ts';

/** How an image gets its packages. */
export type Method = 'install' | 'netboot';

/** Which image the files are for. */
interface ListsWanted {
  readonly installdir: string;
  readonly family: Family;
  /** `rocky9.6` */
  readonly os: string;
  readonly arch: string;
  readonly profile: string;
}

/**
 * The file for an image (`compute.rocky9.x86_64.pkglist`): the administrator's below INSTALLDIR/custom goes before the one that comes
 * with muster, and a name that says more before one that says less.
 */
function listFile(wanted: ListsWanted, method: Method, ending: string): string | undefined {
  const { installdir, family, os } = wanted;
  const directories = [join(installdir, 'custom', method, platformOf(os)), join(shippedImageFiles, family, method)];
  const names = listNames(wanted).map((name) => `${name}.${ending}`);
  return directories
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find((path) => existsSync(path));
}

/** Whether it can be part of the name of a file. */
const isPlain = (word: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(word);

/** The same for an image that is defined, whose attributes may be anything. */
export function listFileFor(
  installdir: string,
  { os, arch, profile }: Pick<NodeImage, 'os' | 'arch' | 'profile'>,
  method: Method,
  ending: string,
): string | undefined {
  return [os, arch, profile].every(isPlain)
    ? listFile({ installdir, family: distributionOf(os), os, arch, profile }, method, ending)
    : undefined;
}

function distributionOf(os: string): Family {
  const tools = familyOf(os);
  if (tools === 'dnf') return 'redhat';
  if (tools === 'zypper') return 'suse';
  return os.startsWith('ubuntu') ? 'ubuntu' : 'debian';
}

/** From the version to the mere name: rocky9.6, rocky9, rocky; then the family, so that one file serves all of it. */
function listNames({ family, os, arch, profile }: ListsWanted): string[] {
  const systems: string[] = [];
  for (let name = os; name !== ''; name = shorter(name)) systems.push(name);
  if (!systems.includes(family)) systems.push(family);
  return [
    ...systems.flatMap((system) => [`${profile}.${system}.${arch}`, `${profile}.${system}`]),
    `${profile}.${arch}`,
    profile,
  ];
}

/** The last part of the version goes, then all of it. */
function shorter(name: string): string {
  if (!/\d$/.test(name)) return '';
  return /\.\d+$/.test(name) ? name.replace(/\.\d+$/, '') : name.replace(/\d+$/, '');
}

/** A definition of an operating system image. */
export interface ImageMade {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

interface ImageBasis {
  readonly release: Pick<Release, 'family' | 'arch'>;
  /** `rocky9.6` */
  readonly os: string;
  readonly installdir: string;
  /** The trees of all discs. */
  readonly directories: readonly string[];
  /** The operating system of this machine, named in the same way. */
  readonly own: string | undefined;
}

const endings = {
  template: 'tmpl',
  pkglist: 'pkglist',
  otherpkglist: 'otherpkgs.pkglist',
  exlist: 'exlist',
  postinstall: 'postinstall',
} as const;
type FileAttribute = keyof typeof endings;

interface Kind {
  readonly profile: string;
  readonly method: 'install' | 'netboot' | 'statelite';
  readonly files: readonly FileAttribute[];
  /** It is made only where this file exists. */
  readonly needs?: FileAttribute;
  readonly attributes?: Readonly<Record<string, string>>;
}

const installed: Kind = { profile: 'compute', method: 'install', files: ['template', 'pkglist', 'otherpkglist'] };
const diskless: readonly FileAttribute[] = ['pkglist', 'otherpkglist', 'exlist', 'postinstall'];

const kinds: readonly Kind[] = [
  installed,
  // A service node needs answers of its own for its installer.
  { ...installed, profile: 'service', needs: 'template', attributes: { postscripts: 'servicenode' } },
  { profile: 'compute', method: 'netboot', files: diskless },
  { profile: 'compute', method: 'statelite', files: diskless },
];

/** The images that a medium makes possible, with the names and files that the reference system gives them. */
export function imagesFor(basis: ImageBasis): ImageMade[] {
  const { release, os, own } = basis;
  const images = kinds.flatMap((kind) => imageOf(basis, kind) ?? []);
  // This machine itself, where it runs what is on the medium.
  const management = own === `${os}-${release.arch}` ? imageOf(basis, { ...installed, files: ['pkglist'] }) : undefined;
  return management ? [...images, { ...management, name: `${os}-${release.arch}-stateful-mgmtnode` }] : images;
}

function imageOf(basis: ImageBasis, kind: Kind): ImageMade | undefined {
  const { release, os, installdir, directories } = basis;
  const { profile, method } = kind;
  if (method === 'install' && installerProblem(os) !== undefined) return undefined;
  const { family, arch } = release;
  const wanted = { installdir, family, os, arch, profile };
  const found = kind.files.flatMap((attribute) => {
    const file = listFile(wanted, method === 'install' ? 'install' : 'netboot', endings[attribute]);
    return file === undefined ? [] : [[attribute, file] as const];
  });
  const files: Partial<Record<string, string>> = Object.fromEntries(found);
  if (kind.needs && files[kind.needs] === undefined) return undefined;
  return {
    name: `${os}-${arch}-${method}-${profile}`,
    attributes: {
      imagetype: 'linux',
      osname: 'Linux',
      osvers: os,
      osarch: arch,
      osdistroname: `${os}-${arch}`,
      profile,
      provmethod: method,
      pkgdir: directories.join(','),
      otherpkgdir: join(installdir, 'post/otherpkgs', os, arch),
      ...(method === 'install'
        ? {}
        : { rootimgdir: usualDirectory(installdir, { method, osvers: os, osarch: arch, profile }) }),
      ...(files as Record<string, string>),
      ...kind.attributes,
    },
  };
}

const methods: Readonly<Record<string, Pick<Kind, 'method' | 'files' | 'needs'>>> = {
  install: { method: 'install', files: installed.files, needs: 'template' },
  netboot: { method: 'netboot', files: diskless, needs: 'pkglist' },
  statelite: { method: 'statelite', files: diskless, needs: 'pkglist' },
};

/**
 * The attributes of an image that is said only by `provmethod`, `profile`, `osvers` and `osarch`: the files and directories that copycds
 * would give it. Without `osvers` or `osarch` it is for what this machine runs.
 */
export function usualAttributes(
  installdir: string,
  name: string,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const wrong = (what: string): Fault => new Fault('invalid', `Image "${name}": ${what}`);
  const own = ownSystem();
  const { profile, provmethod = '', osvers: os = own?.os, osarch: arch = own?.arch } = given;
  const kind = Object.hasOwn(methods, provmethod) ? methods[provmethod] : undefined;
  if (!profile || !kind)
    throw wrong('to fill in its files, give profile and provmethod, which is one of install, netboot and statelite.');
  if (!os || !arch) throw wrong('give osvers and osarch: it is not known what this machine runs.');
  const strange = [profile, os, arch].find((word) => !isPlain(word));
  if (strange !== undefined) throw wrong(`"${strange}" cannot be part of the name of a file.`);
  const problem = kind.method === 'install' ? installerProblem(os) : undefined;
  if (problem !== undefined) throw wrong(problem);
  const release = { family: distributionOf(os), arch };
  const directories = [join(installdir, os, arch)];
  const made = imageOf({ release, os, installdir, directories, own: undefined }, { ...kind, profile });
  if (made) return made.attributes;
  const directory = join(installdir, 'custom', kind.method === 'install' ? 'install' : 'netboot', platformOf(os));
  throw wrong(
    `there is no ${kind.needs} for profile ${profile}: write ${directory}/${profile}.${endings[kind.needs!]}, or give a profile that has one, such as compute.`,
  );
}
