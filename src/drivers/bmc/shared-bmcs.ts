import { Fault } from '../../core/errors.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import { allNodes } from '../../objects/groups.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import type { Snapshot } from '../../database/snapshot.ts';

const known = new WeakMap<EffectiveReader, ReadonlyMap<string, readonly string[]>>();

const addressOf = (reader: EffectiveReader, node: string): string =>
  (nodeAttribute(reader, node, 'bmc') ?? '').split(',', 1)[0]!.toLowerCase();

/** The nodes whose attribute bmc is the same as that of this one, itself among them: several systems may be behind one BMC. */
export function nodesOfBmc(snapshot: Snapshot, node: string): readonly string[] {
  const reader = effectiveReader(snapshot);
  let nodes = known.get(reader);
  if (!nodes) {
    nodes = Map.groupBy(allNodes(snapshot), (each) => addressOf(reader, each));
    known.set(reader, nodes);
  }
  return nodes.get(addressOf(reader, node)) ?? [node];
}

/** Refuses what concerns all nodes of a BMC where the caller has no right to one of them. */
export function refuseSharedBmc(snapshot: Snapshot, node: string, permits: (node: string) => boolean): void {
  if (nodesOfBmc(snapshot, node).every((other) => other === node || permits(other))) return;
  throw new Fault('invalid', 'its BMC also serves a node that you may not change; ask somebody who may.');
}
