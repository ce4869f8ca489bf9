import type { Snapshot } from '../database/snapshot.ts';
import type { JournalChanges } from '../database/changeset.ts';
import type { JournalEntry } from '../database/database.ts';
import type { Table } from '../database/tables.ts';
import { accountRowKey } from './accounts.ts';
import { ownersNamed } from './groups.ts';
import { type ChangedRow, groupTable, ownerOf } from './shown-changes.ts';
import { tellsOfNodes } from './table-access.ts';

/** Whether the policy allows the command on these nodes too; without nodes, on what is about none, or about every one. */
export type Permits = (about: { readonly nodes?: readonly string[]; readonly every?: boolean }) => boolean;

/** Nodes by their names, and accounts by the keys of their rows. */
export function* madeIn(changes: JournalChanges): Iterable<string> {
  for (const table of ['nodelist', 'passwd'])
    for (const [key, before] of changes[table] ?? []) if (before === null) yield key;
}

/**
 * Which rows of the journal a caller may see. Whom rules let see some nodes only sees what became of these: of a node that exists its rows
 * since it was made, since whose it was before is not known. Rows of groups are not shown to them, as their members may have been others.
 * What they did themselves, and not an account of their name before, they see as long as the rules cover all whom it concerns.
 */
export class JournalSight {
  /** Whether everything is seen, in which case entries may be looked at in any order. */
  readonly seesAll: boolean;
  readonly #current: Snapshot;
  readonly #user: string;
  readonly #permits: Permits;
  readonly #ofNodes = new Map<string, boolean>();
  readonly #ofOwners = new Map<string, boolean>();
  readonly #ofTables = new Map<Table, boolean>();
  /** What was made in an entry that was passed, as `madeIn` tells it: what came before is of others of the same name. */
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
      seen = this.#permits(tellsOfNodes(table) ? { every: true } : {});
      this.#ofTables.set(table, seen);
    }
    return seen;
  }
}
