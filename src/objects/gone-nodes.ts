import { SortedMap } from '../database/sorted-map.ts';
import type { Row } from '../database/tables.ts';

/** What became of nodes that one state of `nodelist` has and a later one has not. */
export interface GoneNodes {
  readonly removed: readonly string[];
  /** Those among them that have another name now. */
  readonly renamed: readonly (readonly [from: string, to: string])[];
}

export function goneNodes(before: SortedMap<Row>, after: SortedMap<Row>): GoneNodes {
  const changed = SortedMap.changedKeys(before, after);
  const removed = changed.filter((node) => !after.has(node));
  const added = removed.length === 0 ? [] : changed.filter((node) => !before.has(node));
  return { removed, renamed: renamedNodes(before, after, removed, added) };
}

/** A node that came when another one went, with the same row but for the name. */
function renamedNodes(
  before: SortedMap<Row>,
  after: SortedMap<Row>,
  removed: readonly string[],
  added: readonly string[],
): [from: string, to: string][] {
  const text = (row: Row | undefined): string => JSON.stringify({ ...row, node: '' });
  const pairs: [string, string][] = [];
  const byText = Map.groupBy(added, (node) => text(after.get(node)));
  const goneByText = Map.groupBy(removed, (node) => text(before.get(node)));
  for (const [row, [from, ...others]] of goneByText) {
    const [to, ...more] = byText.get(row) ?? [];
    // Where nodes with equal rows come and go nobody can tell which is which.
    if (to !== undefined && others.length + more.length === 0) pairs.push([from!, to]);
  }
  return pairs;
}
