import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Snapshot } from '../../database/snapshot.ts';
import { tables } from '../../database/tables.ts';
import type { ImagePaths } from '../../images/index.ts';
import { effectiveReader } from '../../objects/effective.ts';
import type { NodeImage } from '../../objects/node-image.ts';
import { installers, readerOf, templateOf } from './answer-files.ts';
import { gatherFacts, type InstallFacts } from './facts.ts';
import { findInstaller } from './install-boot.ts';
import type { Piece } from './installer.ts';
import { readPartitions } from './partition-files.ts';
import type { Placeholder } from './placeholders.ts';
import { Expansion, type ReadFile } from './template.ts';

/** Placeholders that may say which disks are overwritten, and how. The others stand for packages, networks, passwords and URLs. */
const compared = new Set(['TABLE', 'TABLEBLANKOKAY', 'XCATVAR', 'PARTITIONS', 'XCA_PARTITION_SCRIPT']);

const sameForAll = {
  server: 'SERVER',
  token: 'TOKEN',
  rootPassword: undefined,
  publicKey: '',
  packages: { install: [], groups: [], remove: [] },
  hasOverlay: false,
} as const;

/** Stands for the contents of a template that does not exist. */
const noTemplate = 'no template';

/** Tables that nodeset and boots themselves write. */
const ownTables = new Set(['chain', 'bootchoice', 'boottoken']);

function stays({ name, argument = '' }: Placeholder): boolean {
  if (!compared.has(name)) return true;
  if (!name.startsWith('TABLE')) return false;
  const parts = argument.split(':');
  return ownTables.has(parts[0]!) || tables.get(parts[0]!)?.volatile.has(parts.at(-1)!) === true;
}

/**
 * What decides which system an installer brings to which disk of a node, for comparison: the tree it comes from, and its template and
 * partition files with all that they include and the values of tables in them. A template may name disks anywhere, so all of it counts.
 */
export function installContents(
  snapshot: Snapshot,
  paths: ImagePaths,
  image: NodeImage,
): (node: string) => Promise<string> {
  const reader = effectiveReader(snapshot);
  const { installer: name, sources, pair } = findInstaller({ snapshot, paths, image });
  const installdir = paths.installDirectory(snapshot);
  const template = templateOf(installdir, image);
  const read = readOnce(readerOf(snapshot, paths));
  // nodeset takes it, as xCAT's does; the boot says that the file is missing. When it is there, the node has to be set again.
  if (!existsSync(template)) return () => Promise.resolve(noTemplate);
  return async (node) => {
    const facts: InstallFacts = {
      ...gatherFacts(reader, node),
      ...sameForAll,
      node,
      image,
      sources,
    };
    const basis = { reader, facts, installer: installers[name], read, installdir, stays };
    const partitions = await readPartitions(basis);
    const body = await new Expansion({ ...basis, partitions }).file(template);
    const contents = [sources, pair, image.attribute('partitionfile'), partitions, body.map(textOf)];
    return `sha256:${createHash('sha256').update(JSON.stringify(contents)).digest('hex')}`;
  };
}

const textOf = (piece: Piece): unknown => (typeof piece === 'string' ? piece : [piece.value]);

/** Many nodes are compared with the same files. */
function readOnce(read: ReadFile): ReadFile {
  const known = new Map<string, Promise<string>>();
  return (path, what) => {
    let text = known.get(path);
    if (!text) known.set(path, (text = read(path, what)));
    return text;
  };
}
