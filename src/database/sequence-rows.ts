import { joinChanges, type JournalChanges, rowCount, ungroupVolatile, type VolatileChanges } from './changeset.ts';
import type { ChangeSet } from './database.ts';
import { journalOrigin } from './journal-entries.ts';

/** A change set in the sequence, or a part of it. One without changes is no longer in the journal. */
export type SequenceRow = NonNullable<ChangeSet['journal']> & {
  readonly sequence: number;
  readonly fence: number;
  readonly volatile: string | null;
  readonly changes: string | null;
};

/** Change sets that are read at once, and rows of them after which no other is begun. */
export const setsPerPage = 1_000;
const rowsPerPage = 100_000;

/** The change sets of rows that begin after that sequence; undefined if the next one is no longer known. */
export function changeSetsOf(rows: Iterable<SequenceRow>, after: number): ChangeSet[] | undefined {
  const sets: (Omit<ChangeSet, 'changes'> & { readonly parts: JournalChanges[] })[] = [];
  let count = 0;
  for (const { sequence, fence, volatile, changes: text, ...entry } of rows) {
    const last = sets.at(-1);
    const isPart = sequence === last?.sequence;
    if (count > rowsPerPage && !isPart) break;
    if (sequence > (last?.sequence ?? after) + 1 || (volatile ?? text) === null) return undefined;
    const changes =
      volatile === null
        ? (JSON.parse(text!) as JournalChanges)
        : ungroupVolatile(JSON.parse(volatile) as VolatileChanges);
    const journal = volatile === null ? journalOrigin(entry) : undefined;
    count += rowCount(changes);
    if (isPart) last.parts.push(changes);
    else sets.push({ sequence, fence, parts: [changes], journal });
  }
  return sets.map(({ parts, ...set }) => ({ ...set, changes: joinChanges(parts) }));
}
