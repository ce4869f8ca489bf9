import { Fault } from '../core/errors.ts';
import { eachInSlices, inSlices, type Interruptible } from '../core/slices.ts';
import { encodeChanges, type JournalRow } from '../database/changeset.ts';
import type { JournalEntry } from '../database/database.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { SortedMap } from '../database/sorted-map.ts';
import { type Row, snapshotTables, type Table } from '../database/tables.ts';
import type { JournalSight } from './journal-sight.ts';
import {
  type ChangedRow,
  ownerOf,
  rowsOf,
  type ShownEntry,
  type ShownRow,
  shownEntry,
  shownRow,
} from './shown-changes.ts';

/** Which entries and rows of the journal are wanted. */
export interface Wanted {
  /** After this revision, up to the other. */
  readonly after: number;
  readonly until: number;
  readonly user: string | undefined;
  readonly command: string | undefined;
  /** Rows of these nodes and groups. */
  readonly owners: ReadonlySet<string> | undefined;
  readonly tables: ReadonlySet<Table> | undefined;
}

/** An entry of a list: how many rows it has that are wanted and may be seen, and the first of them. */
export interface Summary extends ShownEntry {
  readonly tables: readonly string[];
  readonly rows: number;
  readonly changes: readonly ShownRow[];
}

/** Rows of an entry that a list shows. */
export const rowsListed = 20;

/** The newest entries, at most `limit`, and where to go on. */
export async function listEntries(
  store: Store,
  current: Snapshot,
  wanted: Wanted,
  sight: JournalSight,
  limit: number,
  signal: AbortSignal,
): Promise<{ entries: Summary[]; next: number | undefined }> {
  const { after, until, user, command } = wanted;
  const entries: Summary[] = [];
  // Whoever does not see everything is shown what became of nodes since they were made, which only newer entries tell.
  const tables = wanted.tables && [...wanted.tables].map(({ name }) => name);
  const names = wanted.owners && [...wanted.owners];
  const query = sight.seesAll ? { after, until, user, command, tables, names } : { after, until: current.revision };
  for await (const page of store.database.readJournal(query)) {
    if (signal.aborted) break;
    for (const entry of page) {
      const summary = isWanted(entry, wanted) ? await inSlices(summarise(entry, wanted, sight)) : undefined;
      sight.pass(entry);
      if (!summary) continue;
      if (entries.length === limit) return { entries, next: entry.revision };
      entries.push(summary);
    }
  }
  return { entries, next: undefined };
}

const isWanted = ({ revision, user, command }: JournalEntry, wanted: Wanted): boolean =>
  revision <= wanted.until &&
  (wanted.user === undefined || wanted.user === user) &&
  (wanted.command === undefined || wanted.command === command);

const isWantedRow = ([table, [key]]: ChangedRow, { owners, tables }: Pick<Wanted, 'owners' | 'tables'>): boolean => {
  if (tables && !tables.has(table)) return false;
  if (!owners) return true;
  const owner = ownerOf(table, key);
  return owner !== undefined && owners.has(owner);
};

const rowsPerStep = 500;

function* summarise(entry: JournalEntry, wanted: Wanted, sight: JournalSight): Interruptible<Summary | undefined> {
  const tables = new Set<string>();
  const changes: ShownRow[] = [];
  let rows = 0;
  let seen = 0;
  for (const row of rowsOf(entry)) {
    if (++seen % rowsPerStep === 0) yield;
    if (!isWantedRow(row, wanted) || !sight.sees(entry, row)) continue;
    rows++;
    tables.add(row[0].name);
    if (changes.length < rowsListed) changes.push(shownRow(row));
  }
  return rows === 0 ? undefined : { ...shownEntry(entry), tables: [...tables], rows, changes };
}

/** One entry with all rows that may be seen; one of which none may be seen is as good as none. */
export async function entryShown(
  store: Store,
  current: Snapshot,
  revision: number,
  sight: JournalSight,
): Promise<{ entry: ShownEntry; rows: readonly ChangedRow[] }> {
  const after = revision - 1;
  const query = { after, until: sight.seesAll ? revision : current.revision };
  for await (const page of store.database.readJournal(query)) {
    for (const entry of page) {
      if (entry.revision !== revision) {
        sight.pass(entry);
        continue;
      }
      const rows = await inSlices(rowsSeen(entry, sight));
      if (rows.length > 0) return { entry: shownEntry(entry), rows };
    }
  }
  throw await unknownEntry(store, revision);
}

function* rowsSeen(entry: JournalEntry, sight: JournalSight): Interruptible<ChangedRow[]> {
  const rows: ChangedRow[] = [];
  let seen = 0;
  for (const row of rowsOf(entry)) {
    if (sight.sees(entry, row)) rows.push(row);
    if (++seen % rowsPerStep === 0) yield;
  }
  return rows;
}

/** What is told of a change that is not there, no longer there, or of others. */
export async function unknownEntry(store: Store, revision: number): Promise<Fault> {
  const oldest = await store.database.oldestEntry();
  const reach = oldest
    ? `The journal goes back to change ${oldest.revision} of ${new Date(oldest.time).toISOString()}.`
    : 'The journal is empty.';
  return new Fault('unknown-object', `There is no change ${revision} that you may see. ${reach}`);
}

/** The rows that differ between two states of the past, as a change from one to the other would have them. */
export function* differences(
  from: Snapshot,
  to: Snapshot,
  wanted: Pick<Wanted, 'owners' | 'tables'>,
  sees: (row: ChangedRow) => boolean,
): Interruptible<ChangedRow[]> {
  const found: ChangedRow[] = [];
  for (const table of wanted.tables ?? snapshotTables) {
    const keys = SortedMap.changedKeys(from.rows(table.name), to.rows(table.name)).sort();
    yield* eachInSlices(keys, (key) => {
      const row = journalRow(table, key, from.get(table.name, key), to.get(table.name, key));
      if (row && isWantedRow([table, row], wanted) && sees([table, row])) found.push([table, row]);
    });
    yield;
  }
  return found;
}

/** Undefined if they are equal. */
function journalRow(
  table: Table,
  key: string,
  before: Row | undefined,
  after: Row | undefined,
): JournalRow | undefined {
  const [row] = encodeChanges([{ table: table.name, key, before, after }])[table.name]!;
  const [, , changed] = row!;
  return before && after && Object.keys(changed!).length === 0 ? undefined : row;
}
