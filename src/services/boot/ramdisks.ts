import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';

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
