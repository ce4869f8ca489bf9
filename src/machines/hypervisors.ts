import { Fault } from '../core/errors.ts';
import type { Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled } from '../database/tables.ts';
import { namesInRange } from '../objects/cluster.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader } from '../objects/effective.ts';
import { ownersNamed } from '../objects/groups.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { isPattern } from '../objects/substitution/index.ts';
import { lastHosts, targetsOfMoves } from './places.ts';

const columns = { vmhost: 'host', migrationdest: 'migrationdest' } as const;

/** Hypervisors that one migrationdest may stand for. */
const mostNamed = 10_000;

/** The hypervisors that a text of vmhost or migrationdest stands for: a node range, in which names that are no nodes count as well. */
export function hypervisorsNamed(snapshot: Snapshot, text: string): readonly string[] {
  try {
    return namesInRange(snapshot, text, mostNamed);
  } catch (error) {
    // An address, such as one of IPv6, is no range.
    if (error instanceof Fault) return listItems(text);
    throw error;
  }
}

/**
 * The hypervisors that the definitions name for nodes with that mgt: by the attributes vmhost and migrationdest of machines, by a hosttype of their own, by
 * moves that muster has begun, and by machines that muster has made there, though their vmhost may be another by now.
 */
export function* hypervisorsIn(snapshot: Snapshot, mgt: string): Interruptible<ReadonlySet<string>> {
  const reader = effectiveReader(snapshot);
  /** Values that were looked at: thousands of machines have the same few. */
  const seen = new Set<string>();
  for (const [name, row] of snapshot.rows('vm').entries()) {
    yield;
    if (!isEnabled(row)) continue;
    for (const [attribute, column] of Object.entries(columns)) {
      const stored = row[column] ?? '';
      if (stored === '' || seen.has(stored)) continue;
      for (const node of ownersNamed(snapshot, name)) {
        if (nodeAttribute(reader, node, 'mgt') === mgt) seen.add(nodeAttribute(reader, node, attribute) ?? '');
        yield;
        if (!isPattern(stored) && seen.has(stored)) break;
      }
    }
  }
  const isMachine = (node: string): boolean => nodeAttribute(reader, node, 'mgt') === mgt;
  const hosts = new Set([...targetsOfMoves(snapshot, isMachine), ...lastHosts(snapshot, isMachine)]);
  for (const text of seen) {
    for (const host of text === '' ? [] : hypervisorsNamed(snapshot, text)) hosts.add(host);
    yield;
  }
  for (const [name, row] of snapshot.rows('hypervisor').entries()) {
    if (row['type'] !== mgt || !isEnabled(row)) continue;
    for (const node of ownersNamed(snapshot, name)) if (reader.nodeRow(node)) hosts.add(node);
    yield;
  }
  return hosts;
}
