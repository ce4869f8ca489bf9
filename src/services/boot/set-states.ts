import { Fault } from '../../core/errors.ts';
import { nodeFailure, type NodeResult } from '../../core/results.ts';
import type { Origin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { tableNamed } from '../../database/tables.ts';
import { type EffectiveReader, siteValue } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import type { Dhcp } from '../dhcp/dhcp.ts';
import { type BootStates, planBootStates } from './states.ts';

export interface StateServices {
  readonly store: Store;
  readonly dhcp: Dhcp;
}

/** Brings nodes to a state: one change set for all of them, and then their reservations. */
export async function setBootStates(
  { store, dhcp }: StateServices,
  origin: Origin,
  nodes: readonly string[],
  states: BootStates,
): Promise<readonly NodeResult[]> {
  let planned: readonly NodeResult[] = [];
  const { snapshot } = await store.change(origin, function* (head) {
    const draft = new Draft(head);
    planned = yield* planBootStates(draft, nodes, states);
    return draft.changes();
  });
  const brought = planned.filter((result) => !('error' in result)).map(({ node }) => node);
  const isOffline = states.first.kind === 'word' && states.first.word === 'offline';
  const failure = await followReservations(dhcp, snapshot, brought, isOffline, origin);
  return failure ? planned.map((one) => ('error' in one ? one : nodeFailure(one.node, failure))) : planned;
}

/** What boots from the network needs an address; what is offline gets none. Returns why that failed. */
export async function followReservations(
  dhcp: Dhcp,
  snapshot: Snapshot,
  nodes: readonly string[],
  isOffline: boolean,
  origin: Origin,
): Promise<Fault | undefined> {
  const isOff = /^(n|no|0)$/i.test(siteValue(snapshot, 'dhcpsetup') ?? '');
  if (isOff || !dhcp.isConfigured || nodes.length === 0) return undefined;
  try {
    if (isOffline) await dhcp.release(nodes, origin);
    else await dhcp.reserve(snapshot, nodes, origin);
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return new Fault(error.kind, ['The state is set, but not its DHCP reservation.', ...error.sentences]);
  }
}

const typeTable = tableNamed('nodetype');

/** Refuses states that nothing boots. */
export function checkProvisioned({ first }: BootStates): void {
  if (first.kind === 'ondiscover')
    throw new Fault('invalid', 'A node cannot be provisioned with ondiscover: it is no state. PUT bootstate sets it.');
  if (first.kind === 'word' && first.word === 'offline')
    throw new Fault(
      'invalid',
      'A node cannot be provisioned with offline: it would boot nothing. PUT bootstate sets it.',
    );
}

/** Why a node cannot be provisioned, before anything of it is changed. */
export function checkNode(reader: EffectiveReader, node: string, { first }: BootStates): void {
  for (const attribute of ['netboot', 'arch', 'mgt'])
    if (!nodeAttribute(reader, node, attribute)) throw new Fault('invalid', `Missing the '${attribute}' attribute.`);
  if (first.kind !== 'image') return;
  const { arch, provmethod } = reader.row(typeTable, node) ?? {};
  const name = first.name ?? provmethod ?? '';
  const osarch = reader.snapshot.get('osimage', name)?.['osarch'];
  if (osarch && osarch !== arch)
    throw new Fault('invalid', `its arch is ${arch}, but the image ${name} is for ${osarch}.`);
}
