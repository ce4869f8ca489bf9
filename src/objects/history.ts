import { Fault } from '../core/errors.ts';
import { eachInSlices, inSlices, type Interruptible } from '../core/slices.ts';
import { encodeChanges, type JournalChanges, type JournalRow } from '../database/changeset.ts';
import type { JournalEntry } from '../database/database.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { SortedMap } from '../database/sorted-map.ts';
import type { Store } from '../database/store.ts';
import { type Row, snapshotTables, type Table } from '../database/tables.ts';
import { accountRowKey, turnoversIn } from './accounts.ts';
import { ownersNamed } from './groups.ts';
import {
  type ChangedRow,
  groupTable,
  ownerOf,
  rowsOf,
  type ShownEntry,
  shownEntry,
  type ShownRow,
  shownRow,
} from './shown-arguments.ts';
import { concernsNodes } from './table-access.ts';

/** Whether the policy allows the command on these nodes too; without nodes, on what is about none, or about every one. */
export type Permits = (about: { readonly nodes?: readonly string[]; readonly every?: boolean }) => boolean;

/** Nodes by their names, and accounts by the keys of their rows in table passwd, wherever they are from. */
export function* madeIn(changes: JournalChanges): Iterable<string> {
  for (const [key, before] of changes['nodelist'] ?? []) if (before === null) yield key;
  for (const account of turnoversIn(changes)) yield accountRowKey(account);
}

/**
 * Which rows of the journal a caller may see. Whom rules let see some nodes only sees what became of these: of a node that exists its rows
 * since it was made, since whose it was before is not known. Rows of groups are not shown to them, as their members may have been others.
 * What they did themselves, and not an account of their name before, they see as long as the rules cover all whom it concerns.
 */
export class JournalView {
  /** Whether everything is seen, in which case entries may be looked at in any order. */
  readonly seesAll: boolean;
  readonly #current: Snapshot;
  readonly #user: string;
  readonly #permits: Permits;
  readonly #ofNodes = new Map<string, boolean>();
  readonly #ofOwners = new Map<string, boolean>();
  readonly #ofTables = new Map<Table, boolean>();
  /** What was made in an entry that was passed, as `madeIn` finds it: what came before is of others of the same name. */
  readonly #made: Set<string>;

  constructor(current: Snapshot, user: string, permits: Permits, made: Iterable<string> = []) {
    this.#made = new Set(made);
    this.#current = current;
    this.#user = user;
    this.#permits = permits;
    this.seesAll = permits({ every: true });
  }

  /** Whether a row of the entry is seen; entries must be passed from the newest on. */
  sees({ user }: Pick<JournalEntry, 'user'>, [table, [key]]: ChangedRow): boolean {
    if (this.seesAll) return true;
    const owner = ownerOf(table, key);
    if (owner === undefined) return this.#seesTable(table);
    if (user === this.#user && !this.#made.has(accountRowKey(user))) return this.#seesOwners(owner);
    const isNode = this.#current.get('nodelist', owner) !== undefined && table.name !== groupTable;
    return isNode && !this.#made.has(owner) && this.#seesNode(owner);
  }

  /** The entry has been looked at; the next one is older. */
  pass({ changes }: JournalEntry): void {
    if (this.seesAll) return;
    for (const name of madeIn(changes)) this.#made.add(name);
  }

  #seesNode(name: string): boolean {
    let seen = this.#ofNodes.get(name);
    if (seen === undefined) this.#ofNodes.set(name, (seen = this.#permits({ nodes: [name] })));
    return seen;
  }

  /** Whether all nodes are seen that rows under the name belong to. */
  #seesOwners(name: string): boolean {
    let seen = this.#ofOwners.get(name);
    if (seen === undefined) {
      seen = this.#permits({ nodes: ownersNamed(this.#current, name) });
      this.#ofOwners.set(name, seen);
    }
    return seen;
  }

  #seesTable(table: Table): boolean {
    let seen = this.#ofTables.get(table);
    if (seen === undefined) {
      seen = this.#permits(concernsNodes(table) ? { every: true } : {});
      this.#ofTables.set(table, seen);
    }
    return seen;
  }
}

/** Which entries and rows of the journal are wanted. */
interface Wanted {
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
interface Summary extends ShownEntry {
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
  view: JournalView,
  limit: number,
  signal: AbortSignal,
): Promise<{ entries: Summary[]; next: number | undefined }> {
  const { after, until, user, command } = wanted;
  const entries: Summary[] = [];
  // Whoever does not see everything is shown what became of nodes since they were made, which only newer entries show.
  const tables = wanted.tables && [...wanted.tables].map(({ name }) => name);
  const names = wanted.owners && [...wanted.owners];
  const query = view.seesAll ? { after, until, user, command, tables, names } : { after, until: current.revision };
  for await (const page of store.database.readJournal(query)) {
    if (signal.aborted) break;
    for (const entry of page) {
      const summary = isWanted(entry, wanted) ? await inSlices(summarise(entry, wanted, view)) : undefined;
      view.pass(entry);
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

function* summarise(entry: JournalEntry, wanted: Wanted, view: JournalView): Interruptible<Summary | undefined> {
  const tables = new Set<string>();
  const changes: ShownRow[] = [];
  let rows = 0;
  let seen = 0;
  for (const row of rowsOf(entry)) {
    if (++seen % rowsPerStep === 0) yield;
    if (!isWantedRow(row, wanted) || !view.sees(entry, row)) continue;
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
  view: JournalView,
): Promise<{ entry: ShownEntry; rows: readonly ChangedRow[] }> {
  const after = revision - 1;
  const query = { after, until: view.seesAll ? revision : current.revision };
  for await (const page of store.database.readJournal(query)) {
    for (const entry of page) {
      if (entry.revision !== revision) {
        view.pass(entry);
        continue;
      }
      const rows = await inSlices(rowsSeen(entry, view));
      if (rows.length > 0) return { entry: shownEntry(entry), rows };
    }
  }
  throw await unknownEntry(store, revision);
}

function* rowsSeen(entry: JournalEntry, view: JournalView): Interruptible<ChangedRow[]> {
  const rows: ChangedRow[] = [];
  let seen = 0;
  for (const row of rowsOf(entry)) {
    if (view.sees(entry, row)) rows.push(row);
    if (++seen % rowsPerStep === 0) yield;
  }
  return rows;
}

/** What is said of a change that is not there, no longer there, or of others. */
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
