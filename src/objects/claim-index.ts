import type { Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { SortedMap } from '../database/sorted-map.ts';
import type { Row } from '../database/tables.ts';
import { machineClaims } from './claims.ts';

/** Tables whose rows say which machine a node is. */
export const claimingTables: readonly string[] = ['mac', 'vpd'];

/** Keys of rows by claim and key. One entry for each pair: thousands of machines may have the same useless serial number. */
type ClaimIndex = SortedMap<string>;

interface Indexed {
  readonly rows: SortedMap<Row>;
  readonly index: ClaimIndex;
}

const nothing: Indexed = { rows: SortedMap.empty(), index: SortedMap.empty() };
/** The last index made of each table: the next one is computed from what differs, whichever snapshot it is for. */
const latest = new Map<string, Indexed>();

/** Finds the keys of rows of a table that make a claim, in their order. It takes its time for the first who asks, so it yields. */
export function* rowsThatClaim(snapshot: Snapshot, table: string): Interruptible<(claim: string) => readonly string[]> {
  const rows = snapshot.rows(table);
  const before = latest.get(table) ?? nothing;
  let { index } = before;
  const changed = SortedMap.changedKeys(before.rows, rows);
  for (let from = 0; from < changed.length; from += rowsPerStep) {
    if (from > 0) yield;
    index = index.with(changesOf(table, before.rows, rows, changed.slice(from, from + rowsPerStep)));
  }
  latest.set(table, { rows, index });
  return (claim) => index.startingWith(entryOf(claim, ''));
}

const rowsPerStep = 500;

const entryOf = (claim: string, key: string): string => `${claim}\u0000${key}`;

function changesOf(
  table: string,
  before: SortedMap<Row>,
  after: SortedMap<Row>,
  keys: readonly string[],
): ReadonlyMap<string, string | undefined> {
  const changes = new Map<string, string | undefined>();
  for (const key of keys) {
    for (const claim of machineClaims(table, before.get(key)).keys()) changes.set(entryOf(claim, key), undefined);
    for (const claim of machineClaims(table, after.get(key)).keys()) changes.set(entryOf(claim, key), key);
  }
  return changes;
}
