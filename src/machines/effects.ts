import type { Effect } from '../core/effects.ts';
import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';
import { keyOf, tableNamed } from '../database/tables.ts';
import { assign } from '../objects/assign.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { nodeType } from '../objects/types.ts';
import type { EffectHandlers } from '../nodes/index.ts';
import { keepMaster } from './masters.ts';
import { endMove, lastHostOf, noteHost, noteMove } from './places.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { readonly kind: Kind }>;

/** Keeps what commands have done to the virtual machines of nodes, whichever driver they have. */
export const machineEffects = ({ store, audit }: { readonly store: Store; readonly audit: boolean }) =>
  ({
    machine: (node, effect, origin) => keepIdentity(store, origin, node, effect),
    'machine-removed': (node, { host }, origin) => forgetHost(store, origin, node, host),
    'machine-changed': (node, effect, origin) => keepChange(store, origin, node, effect),
    migrating: (node, { to }, origin) => keepMove(store, origin, node, to),
    migrated: (node, { to }, origin) => keepHost(store, origin, node, to),
    master: (node, effect, origin) => keepMaster(store, origin, node, effect),
    async 'foreign-removed'(noderange, { what }, { user, client, command, run: request }) {
      if (!audit) return;
      const args = `removed ${what}`;
      await store.audit({ time: Date.now(), user, client, command, noderange, args, status: 'Allowed', request });
    },
  }) satisfies Partial<EffectHandlers>;

/** Keeps who a new virtual machine is with its node, so that it is the same one when it is made again. */
async function keepIdentity(store: Store, origin: Origin, node: string, made: EffectOf<'machine'>): Promise<void> {
  const table = tableNamed('vpd');
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    const reader = effectiveReader(head);
    if (!reader.nodeRow(node)) return draft.changes();
    const known = reader.row(table, node)?.['uuid'];
    if (known?.toLowerCase() !== made.uuid) draft.merge('vpd', keyOf(table, { node }), { node, uuid: made.uuid });
    const attributes = {
      ...(made.mac === undefined ? {} : { mac: made.mac }),
      ...(made.master === undefined ? {} : { vmmaster: made.master }),
    };
    assign(draft, { type: nodeType, name: node, attributes, mode: 'set', fresh: false });
    noteHost(draft, node, made.host);
    return draft.changes();
  });
}

/** One that is on another hypervisor is still there. */
async function forgetHost(store: Store, origin: Origin, node: string, host: string): Promise<void> {
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    if (effectiveReader(head).nodeRow(node) && lastHostOf(head, node) === host) noteHost(draft, node, undefined);
    return draft.changes();
  });
}

/** Attributes that say what a virtual machine is follow it, where they are set; an inherited one becomes the node's own. */
async function keepChange(
  store: Store,
  origin: Origin,
  node: string,
  { cpus, memory, lost }: EffectOf<'machine-changed'>,
): Promise<void> {
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    const reader = effectiveReader(head);
    if (!reader.nodeRow(node)) return draft.changes();
    const stored = (name: string): string | undefined => nodeAttribute(reader, node, name) || undefined;
    const storage = stored('vmstorage');
    const wanted = { vmcpus: cpus, vmmemory: memory, vmstorage: storage && withoutDisks(storage, lost) };
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
const withoutDisks = (vmstorage: string, lost: readonly string[]): string =>
  vmstorage
    .split('|')
    .filter((place) => !lost.includes(place.split('=', 1)[0]!.trim()))
    .join('|');

/** Its virtual machine is on its way to another hypervisor. */
async function keepMove(store: Store, origin: Origin, node: string, target: string): Promise<void> {
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    if (effectiveReader(head).nodeRow(node)) noteMove(draft, node, target);
    return draft.changes();
  });
}

/** The hypervisor that it is on now, as the node's own value. */
async function keepHost(store: Store, origin: Origin, node: string, vmhost: string): Promise<void> {
  try {
    await store.change(origin, (head) => {
      const draft = new Draft(head);
      if (effectiveReader(head).nodeRow(node)) {
        assign(draft, { type: nodeType, name: node, attributes: { vmhost }, mode: 'set', fresh: false });
        endMove(draft, node);
        noteHost(draft, node, vmhost);
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
