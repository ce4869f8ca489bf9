import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import type { Ledger, Records } from './ledger.ts';
import type { Warnings } from './warnings.ts';

const nothing: Records = new Map();

/**
 * Nodes that are defined no more, renamed or removed, and still have names or addresses in DNS that nodes of `owners` have now: nobody
 * can ask for their removal, so it goes with the nodes that have taken their place.
 */
export function predecessorsOf(
  snapshot: Snapshot,
  ledger: Ledger,
  owners: ReadonlyMap<string, Records>,
  warnings: Warnings,
): Map<string, Records> {
  const reader = effectiveReader(snapshot);
  const found = new Map<string, Records>();
  for (const records of owners.values()) {
    for (const { name } of records.values()) {
      for (const { owner } of ledger.named(name)) {
        if (owner === '' || owners.has(owner) || found.has(owner) || reader.nodeRow(owner)) continue;
        found.set(owner, nothing);
        warnings.add(`Node ${owner} is defined no more: what it had in DNS is removed.`);
      }
    }
  }
  return found;
}
