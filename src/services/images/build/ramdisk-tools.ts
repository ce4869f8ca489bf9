import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Elf, readElf } from '../../../core/elf.ts';
import { inTree } from '../tree/tree-path.ts';
import { architecture } from './families.ts';

/** The interpreter of `share/ramdisk/tools`. */
const perl = '/usr/bin/perl';
const usual = ['/lib64', '/usr/lib64', '/lib', '/usr/lib'];

/**
 * What the tools of the initial RAM disk need besides busybox, by its place there: Perl without its modules, and its libraries. It is the
 * image's, else this machine's; none if neither has one. The tools tell of a machine what busybox cannot.
 */
export function ramdiskTools(tree: string, osarch: string): Map<string, Buffer> {
  const { elf: machine } = architecture(osarch);
  for (const top of [tree, '/']) {
    const found = withLibraries(top, machine);
    if (found) return found;
  }
  return new Map();
}

/** Undefined: there is none for these processors, or one of its libraries is missing. */
function withLibraries(top: string, machine: number): Map<string, Buffer> | undefined {
  const program = readFile(top, perl);
  const elf = program && readElf(program);
  if (!elf?.interpreter || elf.machine !== machine) return undefined;
  const loader = readFile(top, elf.interpreter);
  if (!loader) return undefined;
  const found = new Map([
    ['bin/perl', program!],
    [elf.interpreter.slice(1), loader],
  ]);
  return addNeeded(top, elf, elf.directories, found) ? found : undefined;
}

function addNeeded(top: string, elf: Elf, directories: readonly string[], found: Map<string, Buffer>): boolean {
  return elf.needed.every((name) => {
    const place = `lib/tools/${name}`;
    if (found.has(place)) return true;
    const bytes = [...directories, ...usual, ...usual.map((each) => join(each, multiarch[elf.machine] ?? ''))]
      .map((directory) => readFile(top, join(directory, name)))
      .find((each) => each && readElf(each)?.machine === elf.machine);
    if (!bytes) return false;
    found.set(place, bytes);
    return addNeeded(top, readElf(bytes)!, directories, found);
  });
}

const multiarch: Readonly<Record<number, string>> = { 62: 'x86_64-linux-gnu', 183: 'aarch64-linux-gnu' };

function readFile(top: string, path: string): Buffer | undefined {
  const file = inTree(top, path);
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file) : undefined;
}
