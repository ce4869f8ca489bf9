import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { objectExists, storedAttribute } from './definitions.ts';
import { listItems } from '../core/list-items.ts';
import { type EffectiveReader, siteValue } from './effective.ts';
import { nodeAttribute } from './node-attributes.ts';
import { typeNamed } from './types.ts';
import { platformOf } from './distributions.ts';

/** The operating system image of a node, as far as keeping the node up to date needs it. */
export interface NodeImage {
  /** Empty if the node has none. */
  readonly name: string;
  readonly os: string;
  readonly arch: string;
  readonly profile: string;
  /** install, netboot or statelite. */
  readonly method: string;
  attribute(name: string): string;
}

const osimage = typeNamed('osimage');
const defaultInstallDirectory = '/install';

export const installDirectory = ({ snapshot }: EffectiveReader): string =>
  siteValue(snapshot, 'installdir') || defaultInstallDirectory;

/** A node names its image by `provmethod`; one that names a method only has os, arch and profile itself. */
export function imageOf(reader: EffectiveReader, node: string): NodeImage {
  const own = (name: string): string => nodeAttribute(reader, node, name) ?? '';
  const name = own('provmethod');
  if (name === '' || !objectExists(reader.snapshot, osimage, name)) {
    return { name: '', os: own('os'), arch: own('arch'), profile: own('profile'), method: name, attribute: () => '' };
  }
  const image = imageNamed(reader, name);
  return {
    ...image,
    os: image.os || own('os'),
    arch: image.arch || own('arch'),
    profile: image.profile || own('profile'),
  };
}

/** An image that exists. */
export function imageNamed({ snapshot }: EffectiveReader, name: string): NodeImage {
  const attribute = (wanted: string): string => storedAttribute(snapshot, osimage, name, wanted) ?? '';
  return {
    name,
    os: attribute('osvers'),
    arch: attribute('osarch'),
    profile: attribute('profile'),
    method: attribute('provmethod'),
    attribute,
  };
}

/** The files an image names in an attribute, else the one below `INSTALLDIR/custom` where the reference system looks. */
export function listFiles(
  reader: EffectiveReader,
  image: NodeImage,
  attribute: string,
  ending: string,
): readonly string[] {
  const named = listItems(image.attribute(attribute));
  if (named.length > 0 || image.profile === '' || image.os === '') return named;
  const { os, arch, profile, method } = image;
  const directory = join(
    installDirectory(reader),
    'custom',
    method === 'install' || method === '' ? 'install' : 'netboot',
    platformOf(os),
  );
  const names = [`${profile}.${os}.${arch}`, `${profile}.${os}`, `${profile}.${arch}`, profile];
  const plain = names.filter((name) => !name.includes('/'));
  const found = plain.map((name) => join(directory, `${name}.${ending}`)).find((path) => existsSync(path));
  return found === undefined ? [] : [found];
}
