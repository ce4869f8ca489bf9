import { readFileSync, statSync } from 'node:fs';
import { Fault } from '../../core/errors.ts';
import type { BootOrder } from '../boot-order.ts';
import type { Loaders } from '../loaders.ts';
import { grubFailed } from '../scripts/loaders.ts';
import { argumentsOf, checkWords, commentOf, grubWords } from '../scripts/words.ts';
import { fatImage } from './fat-image.ts';
import { isoImage, type Pieces } from './iso-image.ts';

/** What UEFI starts, and what that starts in turn: both are signed, and GRUB reads its script from the medium. */
const loadersOf: Readonly<Record<string, readonly (readonly [name: string, loader: string])[]>> = {
  x86_64: [
    ['BOOTX64.EFI', 'shimx64.efi'],
    ['GRUBX64.EFI', 'gcdx64.efi'],
  ],
  aarch64: [
    ['BOOTAA64.EFI', 'shimaa64.efi'],
    ['GRUBAA64.EFI', 'gcdaa64.efi'],
  ],
};

/** A file as it was when the medium was made: one that has changed since would not fit what stands before it. */
export interface PinnedFile {
  readonly path: string;
  readonly size: number;
  readonly changed: number;
}

export function pinned(path: string): PinnedFile {
  const { size, mtimeMs: changed } = statSync(path);
  return { path, size, changed };
}

function checked(file: PinnedFile): PinnedFile {
  const { size, changed } = pinned(file.path);
  if (size === file.size && changed === file.changed) return file;
  throw new Fault('unavailable', 'A file of this medium has changed since it was made.');
}

/** From what a medium is made, each time the same. */
export interface MediumParts {
  readonly arch: string;
  readonly kernel: PinnedFile;
  readonly initrd: PinnedFile;
  /** GRUB's script, with the token of the node. */
  readonly script: string;
  /** ISO time. */
  readonly made: string;
}

/** The script that starts the decided state of a node from the medium; without a MAC address the RAM disk takes the first card. */
export function mediumScript(
  node: string,
  order: Extract<BootOrder, { kind: 'load' }>,
  mac: string | undefined,
  server: string,
): string {
  checkWords(node, [order.args, ...order.added]);
  const card = mac === undefined ? [] : [`BOOTIF=01-${mac.replaceAll(':', '-')}`];
  const words = [grubWords(argumentsOf(order, server)), ...card].join(' ');
  const lines = [commentOf(order.state), 'set timeout=0', `linux /vmlinuz ${words}`, 'initrd /initrd', 'boot'];
  return `${[...lines, ...grubFailed].join('\n')}\n`;
}

const efiImages = new WeakMap<Loaders, Map<string, { readonly key: string; readonly image: Buffer }>>();

/** What starts machines of an architecture; a Fault says what is missing here. */
export function efiImage(loaders: Loaders, arch: string): Buffer {
  const wanted = loadersOf[arch];
  if (!wanted)
    throw new Fault('invalid', `There are no media for ${arch}: only for ${Object.keys(loadersOf).join(', ')}.`);
  const files = wanted.map(([name, loader]) => {
    const path = loaders.find(loader);
    if (path === undefined)
      throw new Fault('unavailable', `A boot loader is missing: ${loaders.remedy(loader) ?? loader}`);
    return { name, file: pinned(path) };
  });
  const key = JSON.stringify(files);
  const known = efiImages.get(loaders) ?? new Map();
  efiImages.set(loaders, known);
  const kept = known.get(arch);
  if (kept?.key === key) return kept.image;
  const image = fatImage(files.map(({ name, file }) => ({ name, bytes: readFileSync(file.path) })));
  known.set(arch, { key, image });
  return image;
}

/** GRUB finds its script by what Debian's own media have, too. */
export function mediumOf(loaders: Loaders, { arch, kernel, initrd, script, made }: MediumParts): Pieces {
  const files = [
    { path: '.DISK/INFO', content: Buffer.from('muster\n') },
    { path: 'BOOT/GRUB/GRUB.CFG', content: Buffer.from(script) },
    { path: 'INITRD', content: checked(initrd) },
    { path: 'VMLINUZ', content: checked(kernel) },
  ];
  return isoImage(files, efiImage(loaders, arch), new Date(made));
}
