import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { effectiveReader } from '../objects/effective.ts';
import { decisionOf } from './decision.ts';
import { isImageState } from './states.ts';

const typeTable = tableNamed('nodetype');
/** Named in a sentence. */
const mostNames = 10;

interface Removal {
  readonly force: boolean | undefined;
  /** Nodes that the caller may know of; undefined: all. */
  readonly sees: ((node: string) => boolean) | undefined;
}

/**
 * Refuses to remove images that nodes boot or are about to be installed from: at their next start they would find nothing. Returns what
 * there is to say if that is forced.
 */
export function* checkUnused(
  snapshot: () => Snapshot,
  images: readonly string[],
  { force, sees }: Removal,
): Interruptible<string[]> {
  if (images.length === 0) return [];
  const users = yield* nodesSetTo(snapshot(), new Set(images));
  const sentences = [...users].map(([image, nodes]) => sentence(image, nodes, sees));
  if (force || sentences.length === 0) return sentences;
  throw new Fault('invalid', [...sentences, 'To remove it all the same, use force.']);
}

function* nodesSetTo(snapshot: Snapshot, images: ReadonlySet<string>): Interruptible<Map<string, string[]>> {
  const reader = effectiveReader(snapshot);
  const users = new Map<string, string[]>();
  yield* eachInSlices(snapshot.rows('chain').entries(), ([node, { currstate }]) => {
    if (currstate === undefined || !isImageState(currstate) || !snapshot.get('nodelist', node)) return;
    const image = decisionOf(reader, node, currstate)?.image ?? reader.row(typeTable, node)?.['provmethod'] ?? '';
    if (images.has(image)) users.set(image, [...(users.get(image) ?? []), node]);
  });
  return users;
}

function sentence(image: string, nodes: readonly string[], sees: Removal['sees']): string {
  const known = sees ? nodes.filter(sees) : nodes;
  const named = known.slice(0, mostNames).join(',');
  const more = nodes.length - Math.min(known.length, mostNames);
  const who = named === '' ? 'Nodes' : more === 0 ? named : `${named} and ${more} more`;
  const advice = named === '' ? '' : ` PUT /nodes/${named}/bootstate {"state":"boot"} sets them to their disks.`;
  return `${who} ${nodes.length === 1 && named !== '' ? 'is' : 'are'} set to the image ${image}.${advice}`;
}
