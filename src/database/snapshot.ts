import { type RowChange, changesByTable } from './changeset.ts';
import { SortedMap } from './sorted-map.ts';
import type { Row } from './tables.ts';

interface TableVersion {
  readonly rows: SortedMap<Row>;
  /** The serial of the snapshot in which the table last changed. */
  readonly version: number;
}

const noRows: TableVersion = { rows: SortedMap.empty(), version: 0 };

/** The whole database at one moment, immutable; a later one shares all it can with it. */
export class Snapshot {
  /** Counts committed change sets. */
  readonly revision: number;
  /** Counts every publication, also those of volatile columns, which have no revision. */
  readonly serial: number;
  readonly #tables: ReadonlyMap<string, TableVersion>;

  private constructor(revision: number, serial: number, tables: ReadonlyMap<string, TableVersion>) {
    this.revision = revision;
    this.serial = serial;
    this.#tables = tables;
  }

  static of(revision: number, contents: Iterable<readonly [table: string, rows: SortedMap<Row>]>): Snapshot {
    return new Snapshot(revision, 0, new Map([...contents].map(([name, rows]) => [name, { rows, version: 0 }])));
  }

  static readonly empty = Snapshot.of(0, []);

  rows(table: string): SortedMap<Row> {
    return (this.#tables.get(table) ?? noRows).rows;
  }

  get(table: string, key: string): Row | undefined {
    return this.#tables.get(table)?.rows.get(key);
  }

  version(table: string): number {
    return (this.#tables.get(table) ?? noRows).version;
  }

  apply(changes: readonly RowChange[], revision: number): Snapshot {
    const serial = this.serial + 1;
    const next = new Map(this.#tables);
    for (const [table, rows] of changesByTable(changes)) {
      next.set(table, { rows: this.rows(table).with(rows), version: serial });
    }
    return new Snapshot(revision, serial, next);
  }
}
