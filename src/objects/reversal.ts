import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import { overlay } from '../database/changeset.ts';
import type { JournalEntry } from '../database/database.ts';
import type { Draft } from '../database/draft.ts';
import { without } from '../database/past.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { keyColumns, type Row, type Table } from '../database/tables.ts';
import { groupExists } from './groups.ts';
import { type ChangedRow, ownerOf, rowsOf, shownColumn } from './shown-arguments.ts';

/**
 * Tokens end for good: whoever changes an account ends them, and taking that back must not give them their worth again. What the site says of
 * its accounts is not muster's to take back.
 */
const keptAsTheyAre = new Set(['token', 'siteaccount', 'oidcgrant']);

/** The number of a change. */
export function entryNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new Fault('malformed', `"${text}" is not the number of a change.`);
}

/** What no longer is as the change left it: columns of a row, or the row itself. */
interface Conflict {
  readonly table: Table;
  readonly key: string;
  readonly columns: readonly string[];
}

/** A conflict, and the latest change that made it. */
export interface LaterChange extends Pick<JournalEntry, 'revision' | 'user' | 'command' | 'time' | 'reverts'> {
  readonly table: string;
  readonly key: string;
}

/** Takes back one entry of the journal. Volatile columns stay as they are; rows that come back have none. */
export class Reversal {
  readonly entry: JournalEntry;
  readonly rows: readonly ChangedRow[];

  constructor(entry: JournalEntry) {
    this.entry = entry;
    this.rows = [...rowsOf(entry)].filter(([{ name }]) => !keptAsTheyAre.has(name));
  }

  /** Whose rows it is about, of nodes and groups. */
  owners(): string[] {
    return [...new Set(this.rows.flatMap(([table, [key]]) => ownerOf(table, key) ?? []))].sort();
  }

  *conflicts(snapshot: Snapshot): Interruptible<Conflict[]> {
    const found: Conflict[] = [];
    yield* eachInSlices(this.rows, ([table, [key, before, after]]) => {
      const now = snapshot.get(table.name, key);
      const columns = differing(table, now, before === null, after);
      if (columns) found.push({ table, key, columns });
    });
    return found;
  }

  *apply(draft: Draft): Interruptible<void> {
    yield* eachInSlices(this.rows, ([{ name, volatile }, [key, before, after]]) => {
      if (before === null) draft.remove(name, key);
      else if (after === null) draft.putStored(name, without(before as Row, volatile));
      else draft.putStored(name, overlay(draft.get(name, key), before));
    });
  }

  /** What is put back, as arguments that policies judge. */
  *words(): Interruptible<string[]> {
    const words = new Set<string>();
    yield* eachInSlices(this.rows, ([table, [key, before, after]]) => {
      const { columns } = table;
      const named = keyColumns(table, key);
      for (const column of before === null || after === null ? columns : Object.keys(before)) {
        const value = before?.[column] ?? '';
        if (value !== (after?.[column] ?? '')) words.add(shownColumn(table.name, column, value, named));
      }
    });
    return [...words];
  }

  /** Whose rows come back though there is no such node or group. */
  orphans(draft: Draft): string[] {
    const owners = new Set<string>();
    for (const [table, [key, , after]] of this.rows) {
      const owner = after === null ? ownerOf(table, key) : undefined;
      if (owner !== undefined && !draft.get('nodelist', owner)) owners.add(owner);
    }
    return [...owners].filter((name) => !groupExists(draft.snapshot(), name)).sort();
  }
}

/** The columns that are not as the change left them, if any; none of them if the row should not be there, or is gone. */
function differing(
  { volatile, columns }: Table,
  now: Row | undefined,
  wasMade: boolean,
  after: ChangedRow[1][2],
): string[] | undefined {
  if (after === null) return now ? [] : undefined;
  if (!now) return [];
  const looked = wasMade ? columns : Object.keys(after);
  const other = looked.filter((column) => !volatile.has(column) && (now[column] ?? null) !== (after[column] ?? null));
  return other.length > 0 ? other : undefined;
}

const mostNamed = 20;

/** The latest change of each, for as many as are named. */
export async function laterChanges(
  store: Store,
  { revision }: JournalEntry,
  conflicts: readonly Conflict[],
): Promise<LaterChange[]> {
  const wanted = new Map<string, Conflict>();
  for (const conflict of conflicts.slice(0, mostNamed)) wanted.set(nameOf(conflict.table.name, conflict.key), conflict);
  const found: LaterChange[] = [];
  const tables = [...new Set([...wanted.values()].map(({ table }) => table.name))];
  for await (const page of store.database.readJournal({ after: revision, until: store.current.revision, tables })) {
    for (const { changes, revision: later, user, command, time, reverts } of page) {
      for (const table of tables) {
        for (const [key, before, after] of changes[table] ?? []) {
          const conflict = wanted.get(nameOf(table, key));
          if (!conflict) continue;
          const touches = before === null || after === null || conflict.columns.length === 0;
          if (!touches && !conflict.columns.some((column) => column in after)) continue;
          wanted.delete(nameOf(table, key));
          found.push({ table, key, revision: later, user, command, time, reverts });
        }
      }
    }
    if (wanted.size === 0) break;
  }
  return found;
}

const nameOf = (table: string, key: string): string => `${table}\0${key}`;

/** Why a change cannot be taken back. */
export function conflictFault(
  { revision }: JournalEntry,
  conflicts: readonly Conflict[],
  later: readonly LaterChange[],
): Fault {
  const [first] = later;
  if (first?.reverts === revision && later.every((each) => each.revision === first.revision))
    return new Fault('conflict', `Change ${revision} was taken back already, by change ${first.revision}.`);
  const known = new Map(later.map((each) => [nameOf(each.table, each.key), each]));
  const sentences = conflicts.slice(0, mostNamed).map(({ table, key, columns }) => {
    const found = known.get(nameOf(table.name, key));
    const what =
      columns.length > 0 ? columns.map((column) => `${table.name}.${column}`).join(', ') : `Table ${table.name}`;
    const by = found
      ? `change ${found.revision} (${found.command} by ${found.user}, ${new Date(found.time).toISOString()}) came later`
      : 'it was changed again later';
    return `${rowName(table, key)}: ${what}: ${by}.`;
  });
  if (conflicts.length > mostNamed)
    sentences.push(`${conflicts.length - mostNamed} more rows were changed again later.`);
  sentences.push(`Change ${revision} is not taken back. Take back the later changes first, or set the values by hand.`);
  return new Fault('conflict', sentences);
}

/** The node or group, or the keys of the row. */
function rowName(table: Table, key: string): string {
  const owner = ownerOf(table, key);
  if (owner !== undefined) return owner;
  const keys = Object.entries(keyColumns(table, key)).filter(([column]) => !table.secret.has(column));
  return keys.map(([column, value]) => `${column}=${value}`).join(',') || table.name;
}
