import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import type { Origin } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { type EffectiveReader, siteValue } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { type NodeDhcp, Unconfirmed } from '../names/index.ts';
import type { BootStates } from './states.ts';

/** The results of nodes that were brought to a state, once their reservations have followed. */
export async function withReservations(
  dhcp: NodeDhcp,
  snapshot: Snapshot,
  results: readonly NodeResult[],
  { first }: BootStates,
  origin: Origin,
): Promise<readonly NodeResult[]> {
  const brought = results.filter((result) => !('error' in result)).map(({ node }) => node);
  const isOffline = first.kind === 'word' && first.word === 'offline';
  const failures = await followReservations(dhcp, snapshot, brought, isOffline, origin);
  return results.map((one) => {
    const failure = 'error' in one ? undefined : failures.get(one.node);
    return failure ? nodeFailure(one.node, failure) : one;
  });
}

/** What boots from the network needs an address; what is offline gets none. Returns why that failed, by nodes. */
export async function followReservations(
  dhcp: NodeDhcp,
  snapshot: Snapshot,
  nodes: readonly string[],
  isOffline: boolean,
  origin: Origin,
): Promise<ReadonlyMap<string, Fault>> {
  const isOff = /^(n|no|0)$/i.test(siteValue(snapshot, 'dhcpsetup') ?? '');
  if (isOff || nodes.length === 0) return new Map();
  try {
    if (!(await dhcp.wasConfigured())) return new Map();
    if (isOffline) {
      await dhcp.release(nodes, origin);
      return new Map();
    }
    const { refused } = await dhcp.reserve(snapshot, nodes, origin);
    const failed = nodes.filter((node) => refused.has(node));
    return new Map(failed.map((node) => [node, new Fault('invalid', [notReserved, ...refused.sentencesOf(node)])]));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const failure = new Fault(error.kind, [outcome(isOffline, error), ...error.sentences]);
    return new Map(nodes.map((node) => [node, failure]));
  }
}

const notReserved = 'The state is set, but not its DHCP reservation.';

function outcome(isOffline: boolean, error: Fault): string {
  if (error instanceof Unconfirmed)
    return `The state is set, but it is not known whether its DHCP reservation ${isOffline ? 'was removed' : 'is'}.`;
  return isOffline ? 'The state is set, but its DHCP reservation was not removed.' : notReserved;
}

const typeTable = tableNamed('nodetype');

/** Refuses states that nothing boots. */
export function checkProvisioned({ first }: BootStates): void {
  if (first.kind === 'ondiscover')
    throw new Fault(
      'invalid',
      'A node cannot be provisioned with ondiscover: it is not a boot state. PUT /nodes/NODE/bootstate {"state":"ondiscover"} sets it.',
    );
  if (first.kind === 'word' && first.word === 'offline')
    throw new Fault(
      'invalid',
      'A node cannot be provisioned with offline: it would boot nothing. PUT /nodes/NODE/bootstate {"state":"offline"} sets it.',
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
