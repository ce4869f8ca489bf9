import { Snapshot } from '../../src/database/snapshot.ts';
import { SortedMap } from '../../src/database/sorted-map.ts';
import { keyOf, type Row, tableNamed } from '../../src/database/tables.ts';

/** A snapshot with exactly these rows, as they are stored. */
export function snapshotOf(contents: Readonly<Record<string, readonly Row[]>>): Snapshot {
  const tables = Object.entries(contents).map(([name, rows]) => {
    const entries = rows.map((row) => [keyOf(tableNamed(name), row), row] as const);
    return [name, SortedMap.fromEntries(entries)] as const;
  });
  return Snapshot.of({ revision: 1, sequence: 1, fence: 1, tables });
}
