import type { Snapshot } from '../database/snapshot.ts';
import { lowerBound, SortedMap } from '../database/sorted-map.ts';
import { nodeTables, type Row } from '../database/tables.ts';
import { effectiveReader } from './effective.ts';
import { staticMembers, visibleNodes } from './groups.ts';
import { nodeAttributes } from './node-attributes.ts';

const blockSize = 128;
const comma = 0x2c;

/** A run of nodes of the full listing with its JSON text, once made: `,"n1":{...},"n2":{...}`. */
interface ListingBlock {
  readonly names: readonly string[];
  bytes: Buffer | undefined;
}

/** The full listing of one snapshot. Blocks no change has touched since they were made are shared with earlier listings. */
export interface Listing {
  readonly snapshot: Snapshot;
  readonly blocks: readonly ListingBlock[];
}

/** A cache of nodes' definitions as JSON text. What a change touches is found by comparing the tables of two snapshots. */
export class NodeCatalog {
  #snapshot: Snapshot | undefined;
  #texts = new Map<string, string>();
  #blocks: readonly ListingBlock[] | undefined;

  /** The attributes of one node as JSON text. */
  text(snapshot: Snapshot, node: string): string {
    this.#advance(snapshot);
    if (this.#snapshot !== snapshot) return makeText(snapshot, node);
    let text = this.#texts.get(node);
    if (text === undefined) this.#texts.set(node, (text = makeText(snapshot, node)));
    return text;
  }

  listing(snapshot: Snapshot): Listing {
    this.#advance(snapshot);
    if (this.#snapshot !== snapshot) return { snapshot, blocks: makeBlocks(visibleNodes(snapshot)) };
    return { snapshot, blocks: (this.#blocks ??= makeBlocks(visibleNodes(snapshot))) };
  }

  /** Makes the text of one block; a few milliseconds at most, so that a long listing can pause between blocks. */
  fill({ snapshot }: Listing, block: ListingBlock): Buffer {
    if (block.bytes) return block.bytes;
    let text = '';
    for (const name of block.names) text += `,${JSON.stringify(name)}:${this.text(snapshot, name)}`;
    return (block.bytes = Buffer.from(text));
  }

  /** The past is shown seldom and each time another, so nothing of it is kept: to go from one state of it to the next would take long. */
  #advance(snapshot: Snapshot): void {
    const previous = this.#snapshot;
    if (previous === snapshot || snapshot.isPast || (previous && previous.sequence > snapshot.sequence)) return;
    this.#snapshot = snapshot;
    if (!previous) return;
    const affected = affectedNodes(previous, snapshot);
    if (affected === 'all') {
      this.#texts = new Map();
      this.#blocks = undefined;
      return;
    }
    for (const node of affected) this.#texts.delete(node);
    if (!this.#blocks || affected.size === 0) return;
    this.#blocks = sameNames(previous, snapshot)
      ? refreshBlocks(this.#blocks, visibleNodes(snapshot), affected)
      : undefined;
  }
}

/** Whether both snapshots list the same nodes; the lists are made again whenever any row of nodelist changes. */
function sameNames(previous: Snapshot, snapshot: Snapshot): boolean {
  const before = visibleNodes(previous);
  const after = visibleNodes(snapshot);
  if (before === after) return true;
  return before.length === after.length && before.every((name, i) => name === after[i]);
}

const makeText = (snapshot: Snapshot, node: string): string =>
  JSON.stringify(nodeAttributes(effectiveReader(snapshot), node));

function makeBlocks(names: readonly string[]): ListingBlock[] {
  const blocks: ListingBlock[] = [];
  for (let from = 0; from < names.length; from += blockSize) {
    blocks.push({ names: names.slice(from, from + blockSize), bytes: undefined });
  }
  return blocks;
}

function refreshBlocks(
  blocks: readonly ListingBlock[],
  names: readonly string[],
  affected: ReadonlySet<string>,
): ListingBlock[] {
  const stale = new Set<number>();
  for (const node of affected) {
    const index = lowerBound(names, node);
    if (names[index] === node) stale.add(Math.floor(index / blockSize));
  }
  return blocks.map((block, i) => (stale.has(i) ? { names: block.names, bytes: undefined } : block));
}

/** Nodes whose definition may differ between two snapshots: those with a changed row and the members of groups with one. */
export function affectedNodes(before: Snapshot, after: Snapshot): ReadonlySet<string> | 'all' {
  const hierarchical = (snapshot: Snapshot): Row | undefined => snapshot.get('site', 'hierarchicalattrs');
  if (hierarchical(before) !== hierarchical(after)) return 'all';
  const affected = new Set<string>();
  const size = after.rows('nodelist').size;
  for (const { name: table } of nodeTables) {
    if (before.version(table) === after.version(table) && before.rows(table) === after.rows(table)) continue;
    for (const key of SortedMap.changedKeys(before.rows(table), after.rows(table))) {
      const name = key.split('\u0000', 1)[0]!;
      if (table === 'postscripts' && name === 'xcatdefaults') return 'all';
      affected.add(name);
      if (table !== 'nodelist') for (const member of staticMembers(after, name)) affected.add(member);
      if (affected.size > size) return 'all';
    }
  }
  return affected;
}

/** The pieces of the whole listing as one JSON object. */
export function listingBytes(blocks: readonly Buffer[]): Buffer[] {
  const pieces: Buffer[] = [Buffer.from('{')];
  for (const [i, bytes] of blocks.entries()) pieces.push(i === 0 && bytes[0] === comma ? bytes.subarray(1) : bytes);
  pieces.push(Buffer.from('}\n'));
  return pieces;
}
