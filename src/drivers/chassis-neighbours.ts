import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { nodesOfBmc } from './bmc/shared-bmcs.ts';
import type { ChassisContents } from './capabilities.ts';

/** A node that may be in the same chassis as another. Plain data. */
interface Neighbour {
  readonly node: string;
  /** What its BMC may call it. */
  readonly names: readonly string[];
  readonly mayBeSwitched: boolean;
  /** The request is about it too. */
  readonly isAsked: boolean;
}

export interface Neighbours {
  readonly known: readonly Neighbour[];
  /** Machines that no node is known of may be switched. */
  readonly mayBeUnknown: boolean;
  readonly force: boolean;
}

interface Sharing {
  permits(node: string): boolean;
  readonly hasFullRights: boolean;
  readonly force: boolean;
  /** Those of the request. */
  readonly nodes: readonly string[];
}

/** The nodes behind the same BMC, which may be the machines in its chassis. */
export function neighboursOf(
  snapshot: Snapshot,
  node: string,
  { permits, hasFullRights, force, nodes }: Sharing,
): Neighbours {
  const reader = effectiveReader(snapshot);
  const asked = new Set(nodes);
  const known = nodesOfBmc(snapshot, node)
    .filter((other) => other !== node)
    .map((other) => ({
      node: other,
      names: [other, nodeAttribute(reader, other, 'bmcsystem'), nodeAttribute(reader, other, 'serial')].flatMap(
        (name) => name?.toLowerCase() ?? [],
      ),
      mayBeSwitched: permits(other),
      isAsked: asked.has(other),
    }));
  return { known, mayBeUnknown: hasFullRights, force };
}

const mostNamed = 10;

/** Refuses to switch a chassis with other machines in it: without force at all, and with it where the caller has no right to one. */
export function refuseNeighbours(
  { id, others }: ChassisContents,
  { known, mayBeUnknown, force }: Neighbours,
  restarts: boolean,
): void {
  const found = others.map(({ id: system, names }) => {
    const called = names.map((name) => name.toLowerCase());
    return { system, node: known.find((each) => each.names.some((name) => called.includes(name))) };
  });
  if (found.length === 0) return;
  if (found.some(({ node }) => !(node?.mayBeSwitched ?? mayBeUnknown)))
    throw new Fault('invalid', `chassis ${id} also has a machine in it that you may not switch; ask somebody who may.`);
  const partner = restarts ? found.find(({ node }) => node?.isAsked)?.node : undefined;
  if (force && partner)
    throw new Fault(
      'invalid',
      `chassis ${id} also has ${partner.node} in it, for which the same request resets it: name one of them.`,
    );
  if (force) return;
  const named = found.map(({ system, node }) => node?.node ?? `machine ${system}`);
  const shown = named.slice(0, mostNamed).join(', ');
  const more = named.length > mostNamed ? ` and ${named.length - mostNamed} more` : '';
  throw new Fault(
    'invalid',
    `chassis ${id} also has ${shown}${more} in it. Nothing was sent; force switches these too.`,
  );
}
