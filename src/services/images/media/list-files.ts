import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { shippedImageFiles } from '../../shipped-files.ts';
import type { NodeImage } from '../../update/node-image.ts';
import { familyOf, platformOf } from '../build/families.ts';
import type { Family } from './release.ts';

export type Method = 'install' | 'netboot';

/** Which image the files are for. */
export interface ListsWanted {
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
export function listFile(wanted: ListsWanted, method: Method, ending: string): string | undefined {
  const { installdir, family, os } = wanted;
  const directories = [join(installdir, 'custom', method, platformOf(os)), join(shippedImageFiles, family, method)];
  const names = listNames(wanted).map((name) => `${name}.${ending}`);
  return directories
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find((path) => existsSync(path));
}

/** The same for an image that is defined, whose attributes may be anything. */
export function listFileFor(
  installdir: string,
  { os, arch, profile }: Pick<NodeImage, 'os' | 'arch' | 'profile'>,
  method: Method,
  ending: string,
): string | undefined {
  const isPlain = [os, arch, profile].every((part) => /^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(part));
  return isPlain ? listFile({ installdir, family: distributionOf(os), os, arch, profile }, method, ending) : undefined;
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
