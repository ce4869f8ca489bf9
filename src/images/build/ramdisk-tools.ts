import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Elf, readElf } from './elf.ts';
import { ramdiskFiles } from '../../core/home.ts';
import { architecture } from '../../objects/distributions.ts';
import { inTree, readWhole } from '../tree/tree-path.ts';

/** What the scripts call. They are run by busybox alone, whatever the image has. */
export const applets =
  'sh cat chmod chown chroot cp cpio cttyhack cut dd echo find findfs grep gunzip head hexdump hostname ifconfig insmod ip kill ln ls mdev mkdir modprobe mount mv nslookup poweroff printf readlink reboot rm route sed setsid sha256sum sleep sort stat switch_root sync tail tar timeout tr udhcpc umount uname unxz wget';

/** The scripts of the initial RAM disk, by their places in it. */
export function ramdiskScripts(): Map<string, Buffer> {
  const places = new Map([
    ['init', 'init'],
    ['udhcpc.sh', 'etc/udhcpc.sh'],
    ['first-boot', 'etc/first-boot'],
    ...namesIn('lib').map((name) => [`lib/${name}`, `lib/muster/${name}`] as const),
    ...namesIn('tools').map((name) => [`tools/${name}`, `lib/tools/${name}`] as const),
  ]);
  return new Map([...places].map(([file, place]) => [place, readFileSync(join(ramdiskFiles, file))]));
}

const namesIn = (directory: string): string[] => readdirSync(join(ramdiskFiles, directory));

/** By their places in the RAM disk: the interpreter of `share/ramdisk/tools`, and a small SSH server. */
const programs: Readonly<Record<string, string>> = {
  'bin/perl': '/usr/bin/perl',
  'bin/dropbear': '/usr/sbin/dropbear',
  'bin/dropbearkey': '/usr/bin/dropbearkey',
};
const usual = ['/lib64', '/usr/lib64', '/lib', '/usr/lib'];

/**
 * Programs of the initial RAM disk besides busybox, by their places there: Perl without its modules, dropbear, and their libraries. They
 * are the image's, or this machine's if that has more of them; libraries of both would not fit together. Perl finds out of a machine what
 * busybox cannot, and dropbear lets muster log in to one that waits.
 */
export function ramdiskTools(tree: string, osarch: string): Map<string, Buffer> {
  const { elf: machine } = architecture(osarch);
  const [inImage, here] = [tree, '/'].map((top) => programsIn(top, machine)) as [
    Map<string, Buffer>,
    Map<string, Buffer>,
  ];
  const count = (found: Map<string, Buffer>): number =>
    Object.keys(programs).filter((place) => found.has(place)).length;
  return count(here) > count(inImage) ? here : inImage;
}

const programsIn = (top: string, machine: number): Map<string, Buffer> =>
  new Map(Object.entries(programs).flatMap(([place, path]) => [...(withLibraries(top, machine, place, path) ?? [])]));

/** Undefined: there is none for these processors, or one of its libraries is missing. */
function withLibraries(top: string, machine: number, place: string, path: string): Map<string, Buffer> | undefined {
  const program = readFile(top, path);
  const elf = program && readElf(program);
  if (!elf?.interpreter || elf.machine !== machine) return undefined;
  const loader = readFile(top, elf.interpreter);
  if (!loader) return undefined;
  const found = new Map([
    [place, program!],
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

const readFile = (top: string, path: string): Buffer | undefined => readWhole(inTree(top, path));
