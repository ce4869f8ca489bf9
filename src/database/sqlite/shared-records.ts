import type SQLite from 'better-sqlite3';
import {
  type Announcement,
  type ListedRecord,
  listing,
  type SharedDialect,
  type SharedQuery,
  type SharedRecord,
  type SharedRecords,
  sharedStatements,
  type SharedStatements,
  type Value,
} from '../shared-records.ts';

const milliseconds = "cast((julianday('now') - 2440587.5) * 86400000 as integer)";
const dialect: SharedDialect = { now: milliseconds, position: 'instr' };
const statements = sharedStatements(dialect);

/** A statement that writes, with values for each time that it is run. */
export interface SharedWrite {
  readonly statement: keyof SharedStatements;
  readonly values: readonly (readonly (Value | null)[])[];
}

const prepared = (database: SQLite.Database, text: string) => database.prepare(text.replaceAll('$', '?'));

/** SQLite takes the numbers of values as their names. */
const bound = (values: readonly (Value | null)[]): Record<string, Value | null> =>
  Object.fromEntries(values.map((value, index) => [String(index + 1), value]));

/** Does it in the thread that writes; returns the number of rows. */
export function writeShared(database: SQLite.Database, { statement, values }: SharedWrite): number {
  const prepare = prepared(database, statements[statement]);
  return database.transaction(() => values.reduce((changes, each) => changes + prepare.run(bound(each)).changes, 0))();
}

/** One server alone has a SQLite database, so that announcements reach nobody. */
export class SqliteShared implements SharedRecords {
  readonly isAlone = true;
  readonly #reader: SQLite.Database;
  readonly #write: (write: SharedWrite) => Promise<number>;

  constructor(reader: SQLite.Database, write: (write: SharedWrite) => Promise<number>) {
    this.#reader = reader;
    this.#write = write;
  }

  async claim({ kind, name, holder, body }: SharedRecord, time: number): Promise<boolean> {
    return (await this.#write({ statement: 'claim', values: [[kind, name, holder, body, time]] })) === 1;
  }

  async claimAll(records: readonly SharedRecord[], time: number): Promise<SharedRecord[]> {
    const values = records.map(({ kind, name, holder, body }) => [kind, name, holder, body, time]);
    await this.#write({ statement: 'claim', values });
    return records.flatMap(({ kind, name, holder }) =>
      this.#rows<SharedRecord>(statements.get, [kind, name]).filter((found) => found.holder !== holder),
    );
  }

  async releaseAll(kind: string, names: readonly string[], holder: string): Promise<void> {
    await this.#write({ statement: 'release', values: names.map((name) => [kind, name, holder]) });
  }

  async shorten(kinds: readonly string[], time: number): Promise<void> {
    await this.#write({ statement: 'shorten', values: kinds.map((kind) => [kind, time]) });
  }

  async release({ kind, name, holder }: Pick<SharedRecord, 'kind' | 'name' | 'holder'>): Promise<void> {
    await this.#write({ statement: 'release', values: [[kind, name, holder]] });
  }

  async put(records: readonly SharedRecord[], time: number): Promise<void> {
    const values = records.map(({ kind, name, holder, body, about = null }) => [kind, name, holder, body, about, time]);
    await this.#write({ statement: 'put', values });
  }

  async get(kind: string, name: string): Promise<SharedRecord | undefined> {
    return this.#rows<SharedRecord>(statements.get, [kind, name])[0];
  }

  async list(query: SharedQuery): Promise<ListedRecord[]> {
    const { text, values } = listing(dialect, query);
    return this.#rows(text, values);
  }

  async remove(kind: string, names: readonly string[]): Promise<void> {
    await this.#write({ statement: 'remove', values: names.map((name) => [kind, name]) });
  }

  async announce(_announcement: Announcement): Promise<void> {}

  /** It is in this process. */
  async clock(): Promise<number> {
    return Date.now();
  }

  hear(_heard: (announcement: Announcement) => void): () => void {
    return () => undefined;
  }

  #rows<Row>(text: string, values: readonly Value[]): Row[] {
    return prepared(this.#reader, text).all(bound(values)) as Row[];
  }
}
