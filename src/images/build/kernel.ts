import { lstatSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import { inTree, largestRead, readWhole, tooLarge } from '../tree/tree-path.ts';

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

/** A driver of a kernel, as its tree has it. */
export interface Module {
  readonly name: string;
  /** Below the directory of the kernel's modules. */
  readonly path: string;
  readonly needs: readonly string[];
}

/** `kernel/drivers/net/virtio_net.ko.xz` is virtio_net. */
export const moduleName = (path: string): string =>
  path
    .slice(path.lastIndexOf('/') + 1)
    .replace(/\.ko(\.(gz|xz|zst))?$/, '')
    .replaceAll('-', '_');

/** The modules of a kernel by name, from modules.dep in their directory. */
export function readModules(text: string): Map<string, Module> {
  const modules = new Map<string, Module>();
  for (const line of text.split('\n')) {
    const mark = line.indexOf(':');
    if (mark < 0) continue;
    const path = line.slice(0, mark);
    if (path.startsWith('/') || path.split('/').includes('..')) continue;
    const needs = line
      .slice(mark + 1)
      .split(' ')
      .filter((each) => each !== '')
      .map(moduleName);
    modules.set(moduleName(path), { name: moduleName(path), path, needs });
  }
  return modules;
}

/** These and all they need, each after what it needs. */
export function withNeeded(modules: ReadonlyMap<string, Module>, wanted: Iterable<string>): Module[] {
  const found = new Map<string, Module>();
  const add = (name: string): void => {
    const module = modules.get(name);
    if (!module || found.has(name)) return;
    // modules.dep names all that is needed, near and far, so this goes one step deep.
    for (const needed of [...module.needs].reverse()) {
      const each = modules.get(needed);
      if (each) found.set(needed, each);
    }
    found.set(name, module);
  };
  for (const name of wanted) add(name);
  return [...found.values()];
}

/**
 * The content of a module or of firmware, decompressed, since the small modprobe of initial RAM disks reads none that are compressed;
 * undefined if there is none. A few bytes that become more than memory has are refused.
 */
export async function inflated(task: Work, path: string): Promise<Buffer | undefined> {
  const bytes = readWhole(path);
  if (!bytes) return undefined;
  try {
    if (path.endsWith('.gz')) return gunzipSync(bytes, { maxOutputLength: largestRead });
    if (path.endsWith('.zst')) return zstdDecompressSync(bytes, { maxOutputLength: largestRead });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(path);
    throw new Fault('invalid', `${basename(path)} in the image cannot be decompressed: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  return path.endsWith('.xz') ? unxz(task, path, bytes) : bytes;
}

async function unxz(task: Work, path: string, bytes: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  await task.program('xz', ['-dc'], {
    input: bytes,
    stdout(chunk) {
      length += chunk.length;
      if (length <= largestRead) chunks.push(chunk);
    },
  });
  if (length > largestRead) throw tooLarge(path);
  return Buffer.concat(chunks);
}

/** The firmware that a module says it may ask for. */
export function firmwareOf(module: Buffer): string[] {
  const found: string[] = [];
  const mark = Buffer.from('\0firmware=');
  for (let at = module.indexOf(mark); at >= 0; at = module.indexOf(mark, at + 1)) {
    const end = module.indexOf(0, at + mark.length);
    const name = module.subarray(at + mark.length, end).toString('latin1');
    if (/^[A-Za-z0-9._/+-]+$/.test(name) && !name.split('/').includes('..') && !name.startsWith('/')) found.push(name);
  }
  return found;
}

/** Drivers that lie in files and directories of the site. */
export function driverFiles(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    if (!lstatSync(path).isDirectory()) return [path];
    const names = readdirSync(path, { recursive: true, withFileTypes: true });
    return names
      .flatMap((entry) =>
        entry.isFile() && /\.ko(\.(gz|xz|zst))?$/.test(entry.name) ? [join(entry.parentPath, entry.name)] : [],
      )
      .sort();
  });
}
