import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import type { Origin } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { type EffectiveReader, siteValue } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import type { Dhcp } from '../names/index.ts';
import type { BootStates } from './states.ts';

/** The results of nodes that were brought to a state, once their reservations have followed. */
export async function withReservations(
  dhcp: Dhcp,
  snapshot: Snapshot,
  results: readonly NodeResult[],
  { first }: BootStates,
  origin: Origin,
): Promise<readonly NodeResult[]> {
  const brought = results.filter((result) => !('error' in result)).map(({ node }) => node);
  const isOffline = first.kind === 'word' && first.word === 'offline';
  const failure = await followReservations(dhcp, snapshot, brought, isOffline, origin);
  return failure ? results.map((one) => ('error' in one ? one : nodeFailure(one.node, failure))) : results;
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
    throw new Fault(
      'invalid',
      'A node cannot be provisioned with ondiscover: it is not a boot state. PUT bootstate sets it.',
    );
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
