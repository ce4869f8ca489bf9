import type { Interruptible } from '../core/slices.ts';
import { decodeChanges, type JournalChanges, type Origin, type RowChange } from './changeset.ts';
import type { AuditRecord, ChangeSet, NewSet } from './database.ts';
import type { Snapshot } from './snapshot.ts';

export type Compute = (head: Snapshot) => readonly RowChange[] | Interruptible<readonly RowChange[]>;

/** A change set that somebody waits for, from when it is asked for until it is on disk. */
export interface Pending {
  readonly origin: Origin;
  readonly compute: Compute;
  readonly audit: AuditRecord | undefined;
  readonly committed: (revision: number, after: Snapshot | undefined) => void;
  readonly reject: (error: unknown) => void;
  /** It depends on nothing that was there before, unless it turns out to change more than volatile columns. */
  readonly observes: boolean;
  changes: JournalChanges;
  journalled: boolean;
  /** Of the snapshot after it. */
  revision: number;
  /** That itself, which takes up much more than the change: only for who wants it. */
  after: Snapshot | undefined;
  readonly keepsAfter: boolean;
}

export const unbegun = { changes: {}, journalled: false, revision: 0, after: undefined } as const;

export const isObservation = ({ observes, journalled }: Pending): boolean => observes && !journalled;

export const decoded = (changes: JournalChanges, base: Snapshot): RowChange[] =>
  decodeChanges(changes, (table, key) => base.get(table, key));

/** Revision and fence of the snapshot after it. */
export const placeAfter = (pending: Pending, head: Snapshot): [revision: number, fence: number] => [
  head.revision + (pending.journalled ? 1 : 0),
  head.fence + (isObservation(pending) ? 0 : 1),
];

/** The snapshot after it on another one than it was computed on. */
export function applied(pending: Pending, head: Snapshot): Snapshot {
  if (Object.keys(pending.changes).length === 0) return head;
  return head.apply(decoded(pending.changes, head), ...placeAfter(pending, head));
}

/** A snapshot with the change sets that others have committed after it. */
export const withSets = (snapshot: Snapshot, sets: readonly ChangeSet[]): Snapshot =>
  sets.reduce(
    (base, { changes, journal, fence }) =>
      base.apply(decoded(changes, base), journal?.revision ?? base.revision, fence),
    snapshot,
  );

/** Those that change anything, as they are written. */
export function setsOf(pendings: readonly Pending[], time: number): NewSet[] {
  const sets: NewSet[] = [];
  for (const pending of pendings) {
    const { origin, changes, journalled, revision } = pending;
    if (Object.keys(changes).length === 0) continue;
    const journal = journalled ? { ...origin, revision, time } : undefined;
    sets.push({ changes, journal, isObservation: isObservation(pending) });
  }
  return sets;
}

/** The sets with the places they got after what was there. */
export function numbered(sets: readonly NewSet[], sequence: number, fence: number): ChangeSet[] {
  let at = fence;
  return sets.map(({ changes, journal, isObservation: observed }, i) => ({
    sequence: sequence + 1 + i,
    fence: observed ? at : ++at,
    changes,
    journal,
  }));
}
