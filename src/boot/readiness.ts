import { setImmediate } from 'node:timers/promises';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible, mapInSlices } from '../core/slices.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { type Images, isBuiltMethod } from '../images/index.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { objectExists } from '../objects/definitions.ts';
import { imageNamed, type NodeImage } from '../objects/node-image.ts';
import { typeNamed } from '../objects/types.ts';
import { findInstaller } from './answers/install-boot.ts';
import { installContents } from './answers/install-contents.ts';
import { usualLayout } from './decision.ts';
import { layoutOf } from './disk-layout.ts';
import { type BootPacks, partOf } from './packs.ts';
import type { BootStates } from './states.ts';

/** What nodes find if they boot an image now. */
export interface Readiness {
  /** The pack in use. */
  readonly pack?: string;
  /** How it divides the disk that it goes to. */
  readonly layout?: string;
  /** Why no node can boot it, and what to do. */
  readonly problem?: string;
  /** What differs from node to node: what an installer gets is made for each. */
  readonly byNode?: ReadonlyMap<string, Pick<Readiness, 'layout' | 'problem'>>;
}

export type ReadinessByImage = ReadonlyMap<string, Readiness>;

/** What one node finds; undefined: nobody has looked. */
export function readyFor(readiness: ReadinessByImage | undefined, image: string, node: string): Readiness | undefined {
  const found = readiness?.get(image);
  return found && { ...found, ...found.byNode?.get(node) };
}

/** Names of images, each with the nodes that would be set to it. */
export type ImagesWanted = ReadonlyMap<string, readonly string[]>;

interface Services {
  readonly packs: BootPacks;
  readonly images: Images;
}

const osimage = typeNamed('osimage');
const typeTable = tableNamed('nodetype');
const chainTable = tableNamed('chain');

/** The images that nodes would be set to, now or later in a list of states. */
export function* imagesWanted(
  reader: EffectiveReader,
  nodes: readonly string[],
  { first, rest }: BootStates,
): Interruptible<ImagesWanted> {
  const wanted = new Map<string, string[]>();
  const given = [...(first.kind === 'image' ? [first.name] : []), ...imagesIn(rest)];
  yield* eachInSlices(nodes, (node) => {
    const left = first.kind === 'next' ? imagesIn(reader.row(chainTable, node)?.['currchain'] ?? '') : given;
    const names = new Set(left.map((name) => name ?? reader.row(typeTable, node)?.['provmethod'] ?? ''));
    for (const name of names) {
      const before = wanted.get(name);
      if (before) before.push(node);
      else wanted.set(name, [node]);
    }
  });
  return wanted;
}

/** Undefined: the image of the node. */
const imagesIn = (states: string): readonly (string | undefined)[] =>
  states.split(',').flatMap((item) => {
    const named = /^osimage(?:=(.*))?$/.exec(item.trim());
    return named ? [named[1] || undefined] : [];
  });

/** Looks at files, once for each image and for each node that is installed. An image that is not defined is not in the answer. */
export async function readinessOf(
  snapshot: Snapshot,
  wanted: ImagesWanted,
  services: Services,
): Promise<ReadinessByImage> {
  const found = new Map<string, Readiness>();
  for (const [name, nodes] of wanted) {
    if (!objectExists(snapshot, osimage, name)) continue;
    try {
      found.set(name, await lookAt(snapshot, name, nodes, services));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      found.set(name, { problem: error.sentences.join(' ') });
    }
  }
  return found;
}

async function lookAt(
  snapshot: Snapshot,
  name: string,
  nodes: readonly string[],
  { packs, images }: Services,
): Promise<Readiness> {
  const image = imageNamed(effectiveReader(snapshot), name);
  if (image.method === 'install') {
    findInstaller({ snapshot, paths: images.paths, image });
    return { byNode: await installations(snapshot, images, image, nodes) };
  }
  // Other kinds have a sentence of their own.
  if (!isBuiltMethod(image.method)) return {};
  const pack = await packs.current(snapshot, name);
  for (const kind of ['kernel', 'initrd'] as const) partOf(pack, kind, image.method);
  if (image.method === 'sysclone')
    return { pack: pack.pack.id, layout: (await layoutOf(snapshot, images.paths, image)) ?? usualLayout };
  if (image.attribute('partitionfile') !== '')
    throw new Fault(
      'invalid',
      `The image ${name} runs in memory, where nothing is made of its partitionfile. Clear it: PUT /osimages/${name} {"partitionfile":""}.`,
    );
  return { pack: pack.pack.id };
}

const nodesPerTurn = 8;

/** What the installer of each node would get. Tables say by then that the nodes have the image, and templates may name these. */
async function installations(
  snapshot: Snapshot,
  { paths }: Images,
  image: NodeImage,
  nodes: readonly string[],
): Promise<NonNullable<Readiness['byNode']>> {
  const { name, os, arch, profile } = image;
  const draft = new Draft(snapshot);
  await mapInSlices(nodes, (node) => draft.merge('nodetype', node, { node, provmethod: name, os, arch, profile }));
  const contents = installContents(draft.snapshot(), paths, image);
  const found = new Map<string, Pick<Readiness, 'layout' | 'problem'>>();
  for (const [index, node] of nodes.entries()) {
    if (index % nodesPerTurn === nodesPerTurn - 1) await setImmediate();
    try {
      found.set(node, { layout: await contents(node) });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      found.set(node, { problem: error.sentences.join(' ') });
    }
  }
  return found;
}
