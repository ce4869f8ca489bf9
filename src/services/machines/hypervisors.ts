import type { Sliced } from '../../core/slices.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled } from '../../database/tables.ts';
import { effectiveReader, listItems } from '../../objects/effective.ts';
import { allMembers, ownersNamed } from '../../objects/groups.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { isPattern } from '../../objects/substitution/index.ts';

const columns = { vmhost: 'host', migrationdest: 'migrationdest' } as const;

/**
 * The hypervisors that the definitions name: by the attributes vmhost and migrationdest of machines, the latter a list of names and
 * groups, and by a hosttype of their own.
 */
export function* hypervisorsIn(snapshot: Snapshot): Sliced<ReadonlySet<string>> {
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
        if (nodeAttribute(reader, node, 'mgt') === 'kvm') seen.add(nodeAttribute(reader, node, attribute) ?? '');
        yield;
        if (!isPattern(stored) && seen.has(stored)) break;
      }
    }
  }
  const hosts = new Set<string>();
  for (const item of [...seen].flatMap(listItems)) {
    const members = allMembers(snapshot, item);
    for (const host of members.length > 0 ? members : [item]) hosts.add(host);
  }
  for (const [name, row] of snapshot.rows('hypervisor').entries()) {
    if (row['type'] !== 'kvm' || !isEnabled(row)) continue;
    for (const node of ownersNamed(snapshot, name)) if (reader.nodeRow(node)) hosts.add(node);
    yield;
  }
  return hosts;
}
