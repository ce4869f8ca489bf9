import type { RowChange } from './changeset.ts';
import type { Snapshot } from './snapshot.ts';
import { type GoesWith, type Row, snapshotTables } from './tables.ts';

const dependentTables = snapshotTables.flatMap(({ name, goesWith }) => (goesWith ? { name, goesWith } : []));

/**
 * The changes and, in the same change set, the end of rows that live by one of the changed: whoever changes an account ends its tokens,
 * whichever way the change comes. What the change set itself adds stays, as when accounts and tokens are imported together.
 */
export function withDependents(base: Snapshot, changes: RowChange[]): RowChange[] {
  let all = changes;
  for (const { name, goesWith } of dependentTables) {
    const touched = touchedValues(goesWith, all);
    if (touched.size === 0) continue;
    const gone = new Map<string, RowChange>();
    for (const [key, before] of base.rows(name).entries()) {
      if (touched.has(before[goesWith.column] ?? '')) gone.set(key, { table: name, key, before, after: undefined });
    }
    all = [...all.filter(({ table, key }) => table !== name || !gone.has(key)), ...gone.values()];
  }
  return all;
}

function touchedValues({ table, where, column }: GoesWith, changes: readonly RowChange[]): Set<string> {
  const touched = new Set<string>();
  const wanted = Object.entries(where);
  for (const change of changes) {
    if (change.table !== table || !differ(change.before, change.after)) continue;
    for (const row of [change.before, change.after])
      if (row && wanted.every(([name, value]) => row[name] === value)) touched.add(row[column] ?? '');
  }
  return touched;
}

/** Whether rows differ in more than what is noted about them. */
function differ({ comments: _was, ...before }: Row = {}, { comments: _is, ...after }: Row = {}): boolean {
  const columns = Object.keys({ ...before, ...after });
  return columns.some((column) => before[column] !== after[column]);
}
