import type { Snapshot } from '../../database/snapshot.ts';
import { objectAttributes, objectExists } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { imageNamed } from '../../objects/node-image.ts';
import { typeNamed } from '../../objects/types.ts';
import { type Component, compareVersions, isVersion, repoType } from './kit-tables.ts';

const osdistro = typeNamed('osdistro');

/** The operating system of an image, or one that is defined. */
export interface System {
  readonly base: string;
  readonly major: string;
  readonly minor: string;
  readonly arch: string;
}

export function systemOfImage(snapshot: Snapshot, name: string): System {
  const image = imageNamed(effectiveReader(snapshot), name);
  const distro = image.attribute('osdistroname');
  if (distro !== '' && objectExists(snapshot, osdistro, distro)) return systemOfDistro(snapshot, distro);
  const [, base = '', major = '', minor = ''] = /^([A-Za-z-]*)(\d*)\.?(.*)$/.exec(image.os) ?? [];
  return { base, major, minor, arch: image.arch };
}

export function systemOfDistro(snapshot: Snapshot, name: string): System {
  const row = objectAttributes(snapshot, osdistro, name) as Partial<Record<string, string>>;
  const text = (attribute: string): string => row[attribute] ?? '';
  return { base: text('basename'), major: text('majorversion'), minor: text('minorversion'), arch: text('arch') };
}

export const rolesOfImage = (snapshot: Snapshot, name: string): readonly string[] =>
  listItems(imageNamed(effectiveReader(snapshot), name).attribute('serverrole'));

/** By which attribute, as xCAT names them, a component does not fit an operating system; undefined: it fits. */
export function misfit(snapshot: Snapshot, component: Component, system: System): string | undefined {
  const repo = objectExists(snapshot, repoType, component.repo)
    ? (objectAttributes(snapshot, repoType, component.repo) as Partial<Record<string, string>>)
    : {};
  const text = (attribute: string): string => (repo[attribute] ?? '').toLowerCase();
  const bases = [text('osbasename'), ...listItems(text('compat_osbasenames'))].filter(Boolean);
  if (bases.length > 0 && !bases.includes(system.base.toLowerCase())) return 'OS';
  if (text('osmajorversion') !== '' && text('osmajorversion') !== system.major) return 'majorversion';
  const minor = text('osminorversion');
  if (minor !== '' && compareVersions(minor, system.minor) !== 0 && !isVersion(system.minor, minor))
    return 'minorversion';
  const arch = text('osarch');
  return arch !== '' && arch !== 'noarch' && arch !== system.arch.toLowerCase() ? 'arch' : undefined;
}

/** The same for an image, which may be made for certain roles of servers. */
export function misfitOfImage(snapshot: Snapshot, component: Component, image: string): string | undefined {
  const roles = rolesOfImage(snapshot, image);
  const bySystem = misfit(snapshot, component, systemOfImage(snapshot, image));
  if (bySystem !== undefined || roles.length === 0) return bySystem;
  return roles.some((role) => component.roles.includes(role)) ? undefined : 'serverrole';
}
