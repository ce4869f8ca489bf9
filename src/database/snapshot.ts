import { type RowChange, changesByTable } from './changeset.ts';
import type { Contents } from './database.ts';
import { SortedMap } from './sorted-map.ts';
import type { Row } from './tables.ts';

interface TableVersion {
  readonly rows: SortedMap<Row>;
  /** The sequence of the snapshot in which the table last changed, or in which it was loaded. */
  readonly version: number;
}

type Position = Pick<Contents, 'revision' | 'sequence' | 'fence'>;

const noRows: TableVersion = { rows: SortedMap.empty(), version: 0 };

/** Each table's slot in the list of every snapshot: a list is copied by every write, which would take a map much longer. */
const slots = new Map<string, number>();

function slotOf(table: string): number {
  let slot = slots.get(table);
  if (slot === undefined) slots.set(table, (slot = slots.size));
  return slot;
}

/** The whole database at one moment, immutable; a later one shares all it can with it. */
export class Snapshot {
  /** Counts committed change sets, but for those of volatile columns only. */
  readonly revision: number;
  /** Counts all of them. */
  readonly sequence: number;
  /** Counts all but observations. */
  readonly fence: number;
  readonly #tables: readonly (TableVersion | undefined)[];
  readonly #made: unknown[] = [];
  static #caches = 0;

  private constructor({ revision, sequence, fence }: Position, tables: readonly (TableVersion | undefined)[]) {
    this.revision = revision;
    this.sequence = sequence;
    this.fence = fence;
    this.#tables = tables;
  }

  static of({ tables: contents, ...position }: Contents): Snapshot {
    const tables: TableVersion[] = [];
    for (const [name, rows] of contents) tables[slotOf(name)] = { rows, version: position.sequence };
    return new Snapshot(position, tables);
  }

  /** Makes something of each snapshot once, and keeps it there: every write makes a snapshot, for which a weak map costs much more. */
  static cached<V>(make: (snapshot: Snapshot) => V & {}): (snapshot: Snapshot) => V & {} {
    const cache = Snapshot.#caches++;
    return (snapshot) => (snapshot.#made[cache] ??= make(snapshot)) as V & {};
  }

  static readonly empty = Snapshot.of({ revision: 0, sequence: 0, fence: 0, tables: [] });

  /** Whether it was made from the journal: it has no place in the sequence, and no volatile columns. */
  get isPast(): boolean {
    return this.sequence < 0;
  }

  rows(table: string): SortedMap<Row> {
    return this.#table(table).rows;
  }

  get(table: string, key: string): Row | undefined {
    return this.#table(table).rows.get(key);
  }

  version(table: string): number {
    return this.#table(table).version;
  }

  /** The snapshot after one more change set. */
  apply(changes: readonly RowChange[], revision: number, fence = this.fence + 1): Snapshot {
    const sequence = this.sequence + 1;
    const next = [...this.#tables];
    const [first] = changes;
    if (first && changes.length === 1) {
      const { table, key, after } = first;
      next[slotOf(table)] = { rows: this.rows(table).withOne(key, after), version: sequence };
    } else {
      for (const [table, rows] of changesByTable(changes))
        next[slotOf(table)] = { rows: this.rows(table).with(rows), version: sequence };
    }
    return new Snapshot({ revision, sequence, fence }, next);
  }

  /** An earlier state, in which these rows were others. */
  earlier(changed: ReadonlyMap<string, ReadonlyMap<string, Row | undefined>>, revision: number): Snapshot {
    const tables = [...this.#tables];
    for (const [table, rows] of changed) tables[slotOf(table)] = { rows: this.rows(table).with(rows), version: -1 };
    return new Snapshot({ revision, sequence: -1, fence: -1 }, tables);
  }

  /** The same with one table of another. */
  withTable(name: string, other: Snapshot): Snapshot {
    const tables = [...this.#tables];
    tables[slotOf(name)] = other.#table(name);
    return new Snapshot(this, tables);
  }

  #table(name: string): TableVersion {
    const slot = slots.get(name);
    return (slot === undefined ? undefined : this.#tables[slot]) ?? noRows;
  }
}
