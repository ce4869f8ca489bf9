import { join } from 'node:path';
import { usualDirectory } from '../image-job.ts';
import { listFile } from './list-files.ts';
import type { Release } from './release.ts';

/** A definition of an operating system image. */
export interface ImageMade {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface ImageBasis {
  readonly release: Release;
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
