import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';
import { assign } from '../objects/assign.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { nodeType } from '../objects/types.ts';
import { endMove, noteMove } from './machines/moves.ts';

export interface ChangedAttributes {
  readonly cpus?: string | undefined;
  readonly memory?: string | undefined;
  /** Paths of disks that are no longer there. */
  readonly deleted: readonly string[];
}

/** Attributes that say what a virtual machine is follow it, where they are set; an inherited one becomes the node's own. */
export async function keepChange(
  store: Store,
  origin: Origin,
  node: string,
  { cpus, memory, deleted }: ChangedAttributes,
): Promise<void> {
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    const reader = effectiveReader(head);
    if (!reader.nodeRow(node)) return draft.changes();
    const stored = (name: string): string | undefined => nodeAttribute(reader, node, name) || undefined;
    const storage = stored('vmstorage');
    const wanted = { vmcpus: cpus, vmmemory: memory, vmstorage: storage && withoutDisks(storage, deleted) };
    const attributes = Object.fromEntries(
      Object.entries(wanted).filter(
        (entry): entry is [string, string] =>
          entry[1] !== undefined && ![undefined, entry[1]].includes(stored(entry[0])),
      ),
    );
    assign(draft, { type: nodeType, name: node, attributes, mode: 'set', fresh: false });
    return draft.changes();
  });
}

/** `vmstorage` may name a disk by its path, with its model behind it. */
const withoutDisks = (vmstorage: string, deleted: readonly string[]): string =>
  vmstorage
    .split('|')
    .filter((place) => !deleted.includes(place.split('=', 1)[0]!.trim()))
    .join('|');

/** Its virtual machine is on its way to another hypervisor. */
export async function keepMove(store: Store, origin: Origin, node: string, target: string): Promise<void> {
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    if (effectiveReader(head).nodeRow(node)) noteMove(draft, node, target);
    return draft.changes();
  });
}

/** The hypervisor that it is on now, as the node's own value. */
export async function keepHost(store: Store, origin: Origin, node: string, vmhost: string): Promise<void> {
  try {
    await store.change(origin, (head) => {
      const draft = new Draft(head);
      if (effectiveReader(head).nodeRow(node)) {
        assign(draft, { type: nodeType, name: node, attributes: { vmhost }, mode: 'set', fresh: false });
        endMove(draft, node);
      }
      return draft.changes();
    });
  } catch (error) {
    throw new Fault(
      'unavailable',
      `its virtual machine has moved to ${vmhost}, but its attribute vmhost could not be changed: set it to that.`,
      { cause: error },
    );
  }
}
