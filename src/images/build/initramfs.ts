import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type CpioEntry, cpioEnd, cpioHeader, cpioPadding, cpioTypes } from '../cpio.ts';
import { readElf } from './elf.ts';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import { linkTree } from '../tree/private-tree.ts';
import { inTree, readInTree, readWhole, writeInTree } from '../tree/tree-path.ts';
import { architecture } from '../../objects/distributions.ts';
import type { Recipe } from './gen-job.ts';
import {
  driverFiles,
  firmwareOf,
  inflated,
  type Kernel,
  type Module,
  moduleName,
  readModules,
  withNeeded,
} from './kernel.ts';
import { applets, ramdiskScripts, ramdiskTools } from './ramdisk-tools.ts';

/** Without these no image is mounted. */
const mounting = ['squashfs', 'overlay', 'loop'];
/** Cards that are found in clusters and virtual machines; what a kernel does not have is left out. */
const commonCards = `
virtio_net virtio_pci vmxnet3 xen_netfront hv_netvsc ena gve
e1000 e1000e igb igc ixgbe ixgbevf i40e iavf ice fm10k
tg3 bnx2 bnx2x bnxt_en cnic be2net enic qede qlcnic netxen_nic
mlx4_en mlx5_core sfc cxgb4 nfp atlantic r8169 realtek alx atl1c sky2
thunder_xcv nicvf hns3 hclge mvneta mvpp2 macb genet bcmgenet xgene_enet amd_xgbe ibmveth ibmvnic`
  .trim()
  .split(/\s+/);
/** Disks that machines have: they are reported, and images are written to them. */
const commonDisks = `
virtio_blk virtio_scsi vmw_pvscsi xen_blkfront hv_storvsc nvme ahci ata_piix sd_mod
mpt3sas megaraid_sas smartpqi hpsa aacraid mmc_block`
  .trim()
  .split(/\s+/);

/** The way to BMCs from inside. */
const processors = ['ipmi_si', 'ipmi_ssif', 'ipmi_devintf'];

/** What of an image's recipe is in its initial RAM disk. */
type Drivers = Pick<Recipe, 'osarch' | 'netdrivers' | 'drivers'>;

/** Makes the initial RAM disk that fetches the root of this image; its directory lies in a staging. */
export async function makeInitramfs(
  task: Work,
  recipe: Drivers,
  tree: string,
  kernel: Kernel,
  file: string,
): Promise<void> {
  const archive = new Archive();
  for (const path of ['bin', 'dev', 'etc', 'proc', 'run', 'sys', 'tmp', 'newroot']) archive.directory(path);
  archive.file('bin/busybox', readFileSync(findBusybox(tree, recipe.osarch)), 0o755);
  for (const applet of applets.split(' ')) archive.link(`bin/${applet}`, 'busybox');
  archive.device('dev/console', 5, 1);
  archive.device('dev/null', 1, 3);
  archive.file('etc/nsswitch.conf', Buffer.from('hosts: files dns\n'), 0o644);
  archive.file('etc/hosts', Buffer.from('127.0.0.1 localhost\n'), 0o644);
  for (const [place, text] of ramdiskScripts()) archive.file(place, text, 0o755);
  for (const [place, bytes] of ramdiskTools(tree, recipe.osarch)) archive.file(place, bytes, 0o755);
  await addModules(task, archive, recipe, tree, kernel, dirname(dirname(file)));
  await writeFile(file, await promisify(gzip)(archive.bytes(), { level: 6 }));
}

async function addModules(
  task: Work,
  archive: Archive,
  recipe: Drivers,
  tree: string,
  kernel: Kernel,
  scratch: string,
): Promise<void> {
  const place = `/lib/modules/${kernel.version}`;
  if (!(await readInTree(tree, `${place}/modules.dep`))) await makeIndexes(task, tree, kernel, scratch);
  const index = async (name: string): Promise<string> => (await readInTree(tree, `${place}/${name}`))?.toString() ?? '';
  const modules = readModules(await index('modules.dep'));
  const named = recipe.netdrivers.map(moduleName);
  const builtIn = new Set((await index('modules.builtin')).split('\n').map(moduleName));
  const own = driverFiles(recipe.drivers);
  const missing = named.filter(
    (name) => !modules.has(name) && !builtIn.has(name) && !own.some((path) => moduleName(path) === name),
  );
  if (missing.length > 0)
    throw new Fault(
      'invalid',
      `The kernel ${kernel.version} of the image has no driver ${missing.join(', ')} (netdrivers).`,
    );
  const cards = named.length > 0 ? named : commonCards;
  const chosen = withNeeded(modules, [...mounting, ...cards, ...commonDisks, ...processors]);
  const at = `lib/modules/${kernel.version}`;
  const lines: string[] = [];
  const taken = new Set(own.map(moduleName));
  for (const module of chosen.filter(({ name }) => !taken.has(name))) {
    const file = inTree(tree, `${place}/${module.path}`);
    const bytes = await inflated(task, file);
    if (!bytes)
      throw new Fault(
        'invalid',
        `${place}/modules.dep of the image names ${module.path}, which is not there; install the kernel's package again.`,
      );
    const path = `kernel/${module.name}.ko`;
    archive.file(`${at}/${path}`, bytes, 0o644);
    lines.push(
      `${path}: ${module.needs
        .filter((name) => modules.has(name))
        .map((name) => `kernel/${name}.ko`)
        .join(' ')}`,
    );
    for (const name of firmwareOf(bytes)) await addFirmware(task, archive, tree, name);
  }
  for (const path of own) {
    const bytes = await inflated(task, path);
    if (!bytes) throw new Fault('invalid', `The driver ${path} (driverupdatesrc) is not a file.`);
    archive.file(`${at}/updates/${moduleName(path)}.ko`, bytes, 0o644);
    lines.push(`updates/${moduleName(path)}.ko:`);
  }
  archive.file(`${at}/modules.dep`, Buffer.from(lines.map((line) => `${line}\n`).join('')), 0o644);
  archive.file(`${at}/modules.alias`, Buffer.from(aliasesOf(await index('modules.alias'), chosen)), 0o644);
  archive.file(
    'etc/modules',
    Buffer.from([...mounting, ...named, ...own.map(moduleName)].map((name) => `${name}\n`).join('')),
    0o644,
  );
}

/** depmod follows links, and the image's may lead out of it: it works on another name of the modules, and what it makes is put back. */
async function makeIndexes(task: Work, tree: string, { modules, version }: Kernel, scratch: string): Promise<void> {
  const base = await mkdtemp(join(scratch, 'depmod-'));
  const copy = join(base, 'lib/modules', version);
  await mkdir(dirname(copy), { recursive: true });
  await linkTree(task, modules, copy);
  await task.program('depmod', ['-b', base, version]);
  for (const name of readdirSync(copy).filter((each) => each.startsWith('modules.'))) {
    const path = `/lib/modules/${version}/${name}`;
    const made = await readInTree(copy, name);
    if (made && !(await readInTree(tree, path))?.equals(made)) await writeInTree(tree, path, made, { mode: 0o644 });
  }
}

/** Which devices the chosen modules are for. */
function aliasesOf(aliases: string, chosen: readonly Module[]): string {
  const names = new Set(chosen.map(({ name }) => name));
  const lines = aliases
    .split('\n')
    .filter((line) => names.has(line.slice(line.lastIndexOf(' ') + 1).replaceAll('-', '_')));
  return lines.map((line) => `${line}\n`).join('');
}

async function addFirmware(task: Work, archive: Archive, tree: string, name: string): Promise<void> {
  for (const ending of ['', '.xz', '.zst']) {
    const bytes = await inflated(task, inTree(tree, `/lib/firmware/${name}${ending}`));
    if (bytes) return archive.file(`lib/firmware/${name}`, bytes, 0o644);
  }
}

/** One of the image, else this machine's if it is for the same processors. It must need no libraries. */
function findBusybox(tree: string, osarch: string): string {
  const inImage = ['/bin/busybox', '/usr/bin/busybox', '/sbin/busybox'].map((path) => inTree(tree, path));
  const found = [...inImage, '/bin/busybox', '/usr/bin/busybox'].find((path) =>
    isStatic(path, architecture(osarch).elf),
  );
  if (found !== undefined) return found;
  throw new Fault(
    'invalid',
    `There is no statically linked busybox for ${osarch}, neither in the image nor on this machine. Add busybox-static to the pkglist, or install it here (Debian: apt install busybox-static).`,
  );
}

/** Whether it is a program for these processors that no interpreter has to load. */
function isStatic(path: string, machine: number): boolean {
  const program = readWhole(path);
  const elf = program && readElf(program);
  return elf?.machine === machine && elf.interpreter === undefined;
}

/** Bytes before it is compressed. It is made in memory, and machines unpack it in theirs. */
const largestArchive = 1024 ** 3;

/** An archive of few files, in memory. What is put in twice counts once. */
class Archive {
  readonly #pieces: Buffer[] = [];
  #size = 0;
  readonly #names = new Set<string>();

  directory(name: string): void {
    this.#add({ name, mode: cpioTypes.directory | 0o755 }, Buffer.alloc(0));
  }

  file(name: string, content: Buffer, mode: number): void {
    this.#add({ name, mode: cpioTypes.file | mode }, content);
  }

  link(name: string, target: string): void {
    this.#add({ name, mode: cpioTypes.link | 0o777 }, Buffer.from(target));
  }

  device(name: string, major: number, minor: number): void {
    this.#add({ name, mode: cpioTypes.character | 0o600, major, minor }, Buffer.alloc(0));
  }

  bytes(): Buffer {
    return Buffer.concat([...this.#pieces, cpioEnd()]);
  }

  #add(entry: Omit<CpioEntry, 'inode' | 'size'>, content: Buffer): void {
    const name = entry.name.toString();
    if (this.#names.has(name)) return;
    const above = name.slice(0, Math.max(0, name.lastIndexOf('/')));
    if (above !== '') this.directory(above);
    this.#names.add(name);
    this.#size += content.length;
    if (this.#size > largestArchive)
      throw new Fault(
        'invalid',
        `The initial RAM disk would have more than ${largestArchive} bytes: look at the modules and the firmware of the image.`,
      );
    const header = cpioHeader({ ...entry, inode: this.#names.size, size: content.length });
    this.#pieces.push(header, content, cpioPadding(content.length));
  }
}
