import { realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled, tableNamed } from '../../database/tables.ts';
import { listItems } from '../../core/list-items.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { isBelow, isBuiltMethod } from '../../images/index.ts';
import { installDirectory } from '../../objects/node-image.ts';
import type { Loaders } from '../loaders.ts';
import type { NodeIndex } from '../node-index.ts';
import { type BootPacks, type PartKind, partKinds, partOf, partPath } from '../packs.ts';
import type { Ramdisks } from '../ramdisk.ts';
import type { BootClient, BootRoute } from './route.ts';

const typeTable = tableNamed('nodetype');

/** Loaders: at the root, where firmware asks for them, in `boot/loaders`, and where the reference system has GRUB. */
export const loaderRoute = (loaders: Loaders, nodes: NodeIndex, log: Logger): BootRoute => ({
  async find(segments, { address }) {
    const name = segments.join('/').replace(/^boot\/(loaders|grub2)\//, '');
    const place = loaders.find(name) ?? loaders.find(grubOf(nodes, name));
    if (place === undefined) {
      const remedy = loaders.remedy(name);
      if (remedy !== undefined) log.warn(`${address} asks for a boot loader that is missing: ${remedy}`);
      return undefined;
    }
    return { kind: 'file', path: await realpath(place), node: nodes.byAddress(address), step: 'loader' };
  },
});

/** The reference system has a link for each node: `boot/grub2/grub2-NODE`. */
function grubOf({ snapshot }: NodeIndex, name: string): string {
  const node = /^grub2-([^/]+)$/.exec(name)?.[1];
  const arch = node === undefined ? undefined : effectiveReader(snapshot).row(typeTable, node)?.['arch'];
  return `grub2.${arch}`;
}

/** The small ramdisk, for whoever asks: `boot/ramdisk/ARCH/kernel` and `initrd`, and where the reference system has its own. */
export const ramdiskRoute = (ramdisks: Ramdisks, nodes: NodeIndex): BootRoute => ({
  async find(segments, { address }) {
    const wanted = wantedRamdisk(segments);
    const path = wanted && ramdisks.file(wanted.arch, wanted.name);
    if (path === undefined) return undefined;
    return { kind: 'file', path: await realpath(path), node: nodes.byAddress(address), step: wanted!.name };
  },
});

function wantedRamdisk([first, second = '', third = '', fourth, ...more]: readonly string[]) {
  if (more.length > 0) return undefined;
  if (first === 'boot' && second === 'ramdisk' && (fourth === 'kernel' || fourth === 'initrd'))
    return { arch: third, name: fourth } as const;
  const [, kind, arch] = /^genesis\.(kernel|fs)\.([a-z0-9_]+?)(?:\.gz|\.lzma)?$/.exec(second) ?? [];
  if (first !== 'xcat' || third !== '' || arch === undefined) return undefined;
  return { arch, name: kind === 'fs' ? 'initrd' : 'kernel' } as const;
}

/** Names of the reference system for the files of the pack in use. */
const referenceNames: Readonly<Record<string, PartKind>> = {
  kernel: 'kernel',
  'initrd-stateless.gz': 'initrd',
  'initrd-statelite.gz': 'initrd',
};

/** Files of packed images, for nodes: `boot/images/IMAGE/PACK/kernel` and so on, and `xcat/osimage/IMAGE/kernel` of the pack in use. */
export const imageRoute = (packs: BootPacks, nodes: NodeIndex): BootRoute => ({
  async find(segments, client) {
    const wanted = wantedPart(segments);
    if (!wanted) return undefined;
    const { image, id, kind } = wanted;
    const { snapshot } = nodes;
    const method = snapshot.get('osimage', image)?.['provmethod'];
    if (!isBuiltMethod(method)) return undefined;
    const node = nodeAt(nodes, client);
    const pack = id === undefined ? await packs.current(snapshot, image) : await packs.named(snapshot, image, id);
    return pack && { kind: 'file', path: partPath(pack, partOf(pack, kind, method)), node, step: kind };
  },
});

/** What nodes alone may have. */
function nodeAt(nodes: NodeIndex, { address }: Pick<BootClient, 'address'>): string {
  const node = nodes.byAddress(address);
  if (node === undefined)
    throw new Fault('denied', `The address ${address} is that of no node, so it gets nothing of an image.`);
  return node;
}

interface WantedPart {
  readonly image: string;
  /** Undefined: the one in use. */
  readonly id: string | undefined;
  readonly kind: PartKind;
}

function wantedPart(segments: readonly string[]): WantedPart | undefined {
  const [first, second, image, third = '', fourth = ''] = segments;
  if (image === undefined) return undefined;
  if (first === 'boot' && second === 'images' && segments.length === 5)
    return (partKinds as readonly string[]).includes(fourth)
      ? { image, id: third, kind: fourth as PartKind }
      : undefined;
  if (first !== 'xcat' || second !== 'osimage' || segments.length !== 4 || !Object.hasOwn(referenceNames, third))
    return undefined;
  return { image, id: undefined, kind: referenceNames[third]! };
}

/** The trees of install media, for nodes: `boot/install/OS/ARCH/...`. Of the install directory only what images are installed from. */
export const installRoute = (nodes: NodeIndex): BootRoute => ({
  async find([first, second, ...rest], client) {
    if (first !== 'boot' || second !== 'install' || rest.length === 0) return undefined;
    const node = nodeAt(nodes, client);
    const { snapshot } = nodes;
    const path = await real(join(installDirectory(effectiveReader(snapshot)), ...rest));
    if (path === undefined) return undefined;
    for (const directory of trees(snapshot)) {
      const tree = await real(directory);
      if (tree !== undefined && path !== tree && isBelow(path, tree)) return { kind: 'file', path, node, step: 'file' };
    }
    return undefined;
  },
});

/** Directories that images name as sources of packages, below the install directory. */
function trees(snapshot: Snapshot): string[] {
  const installdir = installDirectory(effectiveReader(snapshot));
  const named = snapshot
    .rows('linuximage')
    .values()
    .filter(isEnabled)
    .flatMap(({ pkgdir = '', otherpkgdir = '' }) => [...listItems(pkgdir), ...listItems(otherpkgdir)]);
  return [...new Set(named)].filter(
    (directory) => isAbsolute(directory) && directory !== installdir && isBelow(directory, installdir),
  );
}

const real = (path: string): Promise<string | undefined> => realpath(path).catch(() => undefined);
