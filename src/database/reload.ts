import type { Database, JournalEntry } from './database.ts';
import { Snapshot } from './snapshot.ts';
import { snapshotTables } from './tables.ts';

/** Tables whose rows others belong to: whether such a row was removed and made again matters to what belonged to it. */
const ownerTables = [
  ...new Set(snapshotTables.flatMap(({ goesWith, ownedBy }) => [...goesWith, ...ownedBy].map(({ table }) => table))),
];

/** The latest state, where the change sets that lead there from an earlier one are no longer known. */
export interface Reloaded {
  readonly snapshot: Snapshot;
  /** What the journal says of `ownerTables` in between; undefined if it does not reach back, or the earlier state is of another past. */
  readonly skipped: readonly JournalEntry[] | undefined;
}

export async function reload(database: Database, was: Snapshot): Promise<Reloaded> {
  const snapshot = Snapshot.of(await database.load());
  return { snapshot, skipped: await entriesBetween(database, was.revision, snapshot.revision) };
}

async function entriesBetween(database: Database, after: number, until: number): Promise<Reloaded['skipped']> {
  if (until <= after) return until === after ? [] : undefined;
  const oldest = await database.oldestEntry();
  if (!oldest || oldest.revision > after + 1) return undefined;
  return (await Array.fromAsync(database.readJournal({ after, until, tables: ownerTables }))).flat();
}
