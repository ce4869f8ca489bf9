import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import { encodedWord } from './scripts/words.ts';

/** Architectures that there may be a ramdisk for. */
const architectures: ReadonlySet<string> = new Set(['x86_64', 'aarch64', 'ppc64', 'ppc64le']);
const files = ['kernel', 'initrd'] as const;
export type RamdiskFile = (typeof files)[number];

/** The small ramdisk that runs tasks on nodes and looks at unknown machines: `ARCH/kernel` and `ARCH/initrd` in one of the directories. */
export class Ramdisks {
  readonly #directories: readonly string[];

  /** The first that has both files of an architecture is taken. */
  constructor(directories: readonly string[]) {
    this.#directories = directories;
  }

  /** Below the root of the listener. */
  paths(arch: string): Record<RamdiskFile, string> {
    if (!this.file(arch, 'kernel'))
      throw new Fault(
        'invalid',
        `There is no ramdisk for ${arch}: pack an image of that architecture, or put a kernel and an initrd into ${this.#directories.map((directory) => join(directory, arch)).join(' or ')}.`,
      );
    return { kernel: `boot/ramdisk/${arch}/kernel`, initrd: `boot/ramdisk/${arch}/initrd` };
  }

  /** Where it lies. */
  file(arch: string, name: string): string | undefined {
    if (!architectures.has(arch) || !(files as readonly string[]).includes(name)) return undefined;
    const found = this.#directories.find((directory) => files.every((each) => existsSync(join(directory, arch, each))));
    return found && join(found, arch, name);
  }
}

const storageTable = tableNamed('storage');

/**
 * Which disk an image is written to, as the initial RAM disk reads it; from the node's `osvolume`. Only a disk that is named is taken
 * whatever is on it: without a name (`auto`) it must be empty, or one that muster wrote before.
 */
export function diskArgument(osvolume: string | undefined): string {
  if (osvolume === undefined || osvolume === '' || osvolume === 'localdisk') return 'auto';
  if (/^\/dev\/[a-z][A-Za-z0-9]*$/.test(osvolume)) return osvolume;
  // Many disks have no number: none names no disk.
  const isBare = /=((naa|eui|nvme|t10)\.)?(0x)?$/i.test(osvolume);
  if (/^(wwn|serial)=[A-Za-z0-9_.:-]+$/.test(osvolume) && !isBare) return osvolume;
  throw new Fault(
    'invalid',
    `The attribute osvolume ${JSON.stringify(osvolume)} names no disk: write localdisk (the first that is empty or was written by muster), /dev/NAME, wwn=NUMBER or serial=NUMBER.`,
  );
}

/** Arguments of the initial RAM disk where the image goes to a disk; `added` are further words of the kernel's command line. */
export function diskArguments(reader: EffectiveReader, node: string, added: readonly string[]): string[] {
  // `R::word` is for the kernel that starts from the disk.
  const words = added.flatMap((text) => text.split(' ')).filter((word) => word.startsWith('R::'));
  const kept = words.map((word) => word.slice('R::'.length)).join(' ');
  return [
    'muster.root=disk',
    `muster.disk=${diskArgument(reader.row(storageTable, node)?.['osvolume'])}`,
    ...(kept === '' ? [] : [`muster.kernel=${encodedWord(kept)}`]),
  ];
}
