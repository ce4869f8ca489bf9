import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { commandLine } from '../../core/shell-words.ts';
import { TarError } from '../../core/tar/header.ts';
import { TarReader } from '../../core/tar/reader.ts';
import { keysOf, openAccess, type RemoteAccess, type RemoteTarget } from '../../nodes/index.ts';
import type { Work } from '../../work/index.ts';
import { findKernel } from '../build/kernel.ts';
import { type TreeLimits, TreeWriter } from '../containers/tree-writer.ts';
import { entryOf, explainingDisk, type ImageJob, stagingFor } from '../image-job.ts';
import { type Manifest, readManifestOf, treeName } from '../manifest.ts';
import { exclude, type Exclusions } from '../pack/exclusions.ts';
import { placeTree } from '../place-tree.ts';
import { placeForTree, privateTree } from '../tree/private-tree.ts';
import { writeInTree } from '../tree/tree-path.ts';

export interface CaptureJob extends ImageJob {
  readonly node: string;
  readonly target: RemoteTarget;
  readonly access: RemoteAccess;
  readonly exclusions: Exclusions;
  readonly lists: Manifest['source']['lists'];
  readonly netdrivers: readonly string[];
  readonly limits: TreeLimits;
  /** Of the image, as it is defined then. */
  readonly attributes: Readonly<Record<string, string>>;
}

export interface Captured {
  readonly image: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** What makes the node the machine it is, and what only its own disks need. Another machine with the same would be taken for it. */
const ofTheMachine = [
  './etc/fstab',
  './etc/hostname',
  './etc/machine-id',
  './var/lib/dbus/machine-id',
  './etc/ssh/ssh_host_*',
  './etc/udev/rules.d/70-persistent-*',
  './var/lib/dhcp/*',
  './var/lib/systemd/random-seed',
  // What a first boot that is not over has, with the token of the node; on a management node this is the data of muster with its key.
  './var/lib/muster/*',
  './usr/local/sbin/muster-first-boot',
  './etc/systemd/system/muster-first-boot.service',
  './etc/systemd/system/*.wants/muster-first-boot.service',
  // The card that the node booted from.
  './etc/network/interfaces.d/muster',
];
/** What the kernel makes, and what nobody keeps. */
const fleeting = ['./proc/*', './sys/*', './dev/*', './run/*', './tmp/*', './var/tmp/*', './lost+found'];

const fileSystems = 'ext2|ext3|ext4|xfs|btrfs|vfat|f2fs|jfs|reiserfs|zfs|bcachefs';

/** What the node runs: of other file systems than those on its disks only the directory they are mounted on is taken. */
const script = `{ cat; while read -r device place kind rest; do
  case $place in /) continue ;; esac
  case $kind in ${fileSystems}) ;; *) printf '.%b/*\\n' "$place" ;; esac
done < /proc/self/mounts; } |
exec tar --create --file=- --directory=/ --numeric-owner --sparse --xattrs --xattrs-include='*' --anchored --exclude-from=- .`;

/** Makes the root of a running node the tree of an image. */
export const work = (job: CaptureJob, task: Work): Promise<Captured> =>
  explainingDisk(`The image ${job.image} cannot be made`, job.directory, () => capture(job, task));

async function capture(job: CaptureJob, task: Work): Promise<Captured> {
  const { image, directory, node, exclusions } = job;
  const before = await readManifestOf(image, directory);
  if (before && before.source.kind !== 'capture')
    throw new Fault(
      'invalid',
      `The image ${image} was not captured from a node, and its tree stays: choose another image, or remove what is built of it first (DELETE /osimages/${image}/instance).`,
    );
  if (before) await privateTree(directory, task.tell);
  else if (entryOf(join(directory, treeName)))
    throw new Fault(
      'invalid',
      `${directory}/${treeName} exists and muster did not make it. Move it away, or give the image another rootimgdir.`,
    );
  const staging = await stagingFor(directory, task);
  const made = join(staging, 'image');
  mkdirSync(made, { mode: 0o755 });
  const tree = placeForTree(made);
  mkdirSync(tree, { mode: 0o755 });
  task.tell(`The root of ${node} is copied.`);
  await receive(job, task, tree);
  const out = [...fleeting, ...ofTheMachine, ...exclusions.out];
  exclude(tree, { out, kept: exclusions.kept });
  if (!entryOf(join(tree, 'etc')))
    throw new Fault('invalid', `${node} has sent no /etc, so this is no system to boot.`);
  const plain = { mode: 0o644 };
  await writeInTree(tree, '/etc/machine-id', '', plain);
  await writeInTree(tree, '/etc/fstab', `# Captured from ${node}; its own disks are left out.\n`, plain);
  task.tell('Host keys, machine ID, host name and fstab of the node are left out.');
  const kernel = findKernel(tree, '');
  if (!kernel) task.tell('It has no kernel with modules, so nodes cannot boot it.');
  const manifest = await placeTree(job, task, {
    made,
    tree,
    kernel,
    before,
    source: { kind: 'capture', lists: job.lists, reference: node },
    netdrivers: job.netdrivers,
  });
  task.tell(`The image ${image} is captured from ${node}, with ${manifest.packages.length} packages.`);
  return { image, attributes: job.attributes };
}

/** Bytes of what tar complains about. */
const mostComplaints = 4_096;

async function receive(job: CaptureJob, task: Work, tree: string): Promise<void> {
  const { node, target, access, limits } = job;
  const nodes = openAccess(access, keysOf(target), readFileSync(access.privateKeyFile, 'utf8'));
  const writer = new TreeWriter(tree, limits);
  const reader = new TarReader(writer);
  let complaints = '';
  writer.beginLayer();
  try {
    const output = {
      stdout(chunk: Buffer): void {
        writer.countRead(chunk.length);
        reader.push(chunk);
      },
      stderr: (chunk: Buffer): void => void (complaints = (complaints + chunk.toString()).slice(-mostComplaints)),
    };
    const { code } = await nodes.use(target, { node, user: job.by, signal: task.signal }, (each) =>
      each.exec(commandLine(['sh', '-c', script]), output, { stdin: sentPatterns(job.exclusions), commandTimeout: 0 }),
    );
    const lines = complaints.trim().split('\n').slice(-5).join(' ');
    if (code !== 0 && code !== 1) throw new Fault('invalid', `${node}: its files could not be copied. ${lines}`);
    // Files that change meanwhile are nothing unusual on a running node.
    if (code === 1) task.tell(`tar on ${node}: ${lines}`);
    reader.finish();
  } catch (error) {
    if (error instanceof TarError) throw new Fault('garbled', `${node} has sent no proper archive: ${error.message}.`);
    if (error instanceof Fault)
      throw new Fault(
        error.kind,
        error.sentences.map((sentence) => named(node, sentence)),
      );
    throw error;
  } finally {
    writer.abandon();
    await nodes.close();
  }
  writer.finish();
  if (writer.unkept.length > 0)
    task.tell(`The file system does not keep these extended attributes: ${writer.unkept.join(', ')}.`);
}

const named = (node: string, sentence: string): string =>
  sentence.startsWith(node) ? sentence : `${node}: ${sentence}`;

/** The node need not send what is left out. What a list takes in again may lie below that, and is then sorted out here. */
const sentPatterns = ({ out, kept }: Exclusions): string =>
  [...fleeting, ...ofTheMachine, ...(kept.length === 0 ? out : [])].map((pattern) => `${pattern}\n`).join('');
