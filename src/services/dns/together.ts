import type { Ledger, Records } from './ledger.ts';
import type { Change } from './update-plan.ts';

/** How many changes, from the first on, can go out together: those of one node, or of one name, must follow each other. */
export function countTogether(changes: readonly Change[], ledger: Ledger): number {
  if (changes.length < 2) return changes.length;
  const taken = new Set<string>();
  for (const [i, change] of changes.entries()) {
    const marks = marksOf(change, ledger);
    if (marks.values().some((mark) => taken.has(mark))) return i;
    for (const mark of marks) taken.add(mark);
  }
  return changes.length;
}

/** The nodes and names that a change concerns: also what its nodes have had so far, and the nodes it may take a name from. */
function marksOf({ owners, doubtful }: Change, ledger: Ledger): Set<string> {
  const marks = new Set<string>();
  const mark = (records: Records): void => {
    for (const { name } of records.values()) {
      marks.add(name);
      for (const { owner } of ledger.named(name)) marks.add(`node ${owner}`);
    }
  };
  for (const [owner, records] of owners) {
    marks.add(`node ${owner}`);
    for (const each of [records, ledger.of(owner), doubtful?.get(owner)]) if (each) mark(each);
  }
  return marks;
}
