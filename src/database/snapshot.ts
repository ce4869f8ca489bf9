import { type RowChange, changesByTable } from './changeset.ts';
import { SortedMap } from './sorted-map.ts';
import type { Row } from './tables.ts';

interface TableVersion {
  readonly rows: SortedMap<Row>;
  /** The serial of the snapshot in which the table last changed. */
  readonly version: number;
}

const noRows: TableVersion = { rows: SortedMap.empty(), version: 0 };

/** Where each table stands in the list of every snapshot: a list is copied by every write, which would take a map much longer. */
const places = new Map<string, number>();

function placeOf(table: string): number {
  let place = places.get(table);
  if (place === undefined) places.set(table, (place = places.size));
  return place;
}

/** The whole database at one moment, immutable; a later one shares all it can with it. */
export class Snapshot {
  /** Counts committed change sets. */
  readonly revision: number;
  /** Counts every publication, also those of volatile columns, which have no revision. */
  readonly serial: number;
  readonly #tables: readonly (TableVersion | undefined)[];

  private constructor(revision: number, serial: number, tables: readonly (TableVersion | undefined)[]) {
    this.revision = revision;
    this.serial = serial;
    this.#tables = tables;
  }

  static of(revision: number, contents: Iterable<readonly [table: string, rows: SortedMap<Row>]>): Snapshot {
    const tables: TableVersion[] = [];
    for (const [name, rows] of contents) tables[placeOf(name)] = { rows, version: 0 };
    return new Snapshot(revision, 0, tables);
  }

  static readonly empty = Snapshot.of(0, []);

  rows(table: string): SortedMap<Row> {
    return this.#table(table).rows;
  }

  get(table: string, key: string): Row | undefined {
    return this.#table(table).rows.get(key);
  }

  version(table: string): number {
    return this.#table(table).version;
  }

  apply(changes: readonly RowChange[], revision: number): Snapshot {
    const serial = this.serial + 1;
    const next = [...this.#tables];
    for (const [table, rows] of changesByTable(changes)) {
      next[placeOf(table)] = { rows: this.rows(table).with(rows), version: serial };
    }
    return new Snapshot(revision, serial, next);
  }

  #table(name: string): TableVersion {
    const place = places.get(name);
    return (place === undefined ? undefined : this.#tables[place]) ?? noRows;
  }
}
