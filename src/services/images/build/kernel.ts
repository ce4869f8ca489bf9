import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../../core/errors.ts';
import { inTree } from '../tree/tree-path.ts';

export interface Kernel {
  readonly version: string;
  /** Where it lies here. */
  readonly file: string;
  /** The directory of its modules here. */
  readonly modules: string;
}

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
const isDirectory = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The kernel of a tree: the one of that version, else the newest; undefined if it has none. */
export function findKernel(tree: string, wanted: string): Kernel | undefined {
  const kernels = kernelsIn(tree);
  if (wanted === '') return kernels.at(-1);
  const found = kernels.find(({ version }) => version === wanted);
  if (found || kernels.length === 0) return found;
  const there = kernels.map(({ version }) => version).join(', ');
  throw new Fault('invalid', `The image has no kernel ${wanted} (kernelver); it has ${there}.`);
}

export function kernelIn(tree: string, wanted: string): Kernel {
  const kernel = findKernel(tree, wanted);
  if (kernel) return kernel;
  throw new Fault(
    'invalid',
    'The image has no kernel with modules. Add one to the pkglist (Debian: linux-image-amd64 or linux-image-arm64; RPM distributions: kernel).',
  );
}

function kernelsIn(tree: string): Kernel[] {
  const top = inTree(tree, '/lib/modules');
  if (!isDirectory(top)) return [];
  return readdirSync(top)
    .sort(byVersion)
    .flatMap((version) => {
      const modules = join(top, version);
      const places = [
        `/boot/vmlinuz-${version}`,
        `/boot/Image-${version}`,
        `/lib/modules/${version}/vmlinuz`,
        `/lib/modules/${version}/Image`,
      ];
      const file = places.map((path) => inTree(tree, path)).find(isFile);
      return file !== undefined && isDirectory(modules) ? { version, file, modules } : [];
    });
}

/** Numbers in names count as numbers. */
const byVersion = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });
