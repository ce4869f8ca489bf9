import type { CompiledQuery, Kysely } from 'kysely';
import { tableNamed } from '../tables.ts';

/** The tables are data, so their types are not known to the compiler. */
export type AnyDatabase = Record<string, Record<string, unknown>>;

export const journalTable = 'muster_journal';
export const metaTable = 'muster_meta';
/**
 * The latest change sets in their order: the revision of those in the journal, the changes of the others. `total` counts what they and all
 * before them take here, so that it is known how many are enough.
 */
export const sequenceTable = 'muster_sequence';

/** A row's position in the order in which the rows of its table were stored; rows of before it was kept have none, and come first. */
export const ordinalColumn = 'muster_ordinal';

/** Where rows stood that are gone, for as long as the journal may bring them back. */
export const removedTable = 'muster_removed';

/** SQL texts by shape, made once each, by kysely where it can say it; the parameters follow the order given here. */
export class Statements {
  readonly #builder: Kysely<AnyDatabase>;
  readonly #texts = new Map<string, string>();

  constructor(builder: Kysely<AnyDatabase>) {
    this.#builder = builder;
  }

  /** Parameters: the columns. */
  insert(table: string, columns: readonly string[]): string {
    return this.#text(`i ${table} ${columns.join()}`, () => {
      const values = Object.fromEntries(columns.map((column) => [column, '']));
      return this.#builder.insertInto(table).values(values).compile();
    });
  }

  /** Parameters: the columns, then the keys. */
  update(table: string, columns: readonly string[]): string {
    return this.#text(`u ${table} ${columns.join()}`, () => {
      let query = this.#builder.updateTable(table).set(Object.fromEntries(columns.map((column) => [column, ''])));
      for (const key of tableNamed(table).keys) query = query.where(key, '=', '');
      return query.compile();
    });
  }

  /** Parameters: the keys. */
  remove(table: string): string {
    return this.#text(`d ${table}`, () => {
      let query = this.#builder.deleteFrom(table);
      for (const key of tableNamed(table).keys) query = query.where(key, '=', '');
      return query.compile();
    });
  }

  /** How many rows have each column of the table. */
  countColumns(table: string): string {
    return this.#text(`c ${table}`, () =>
      this.#builder
        .selectFrom(table)
        .select(({ fn }) => tableNamed(table).columns.map((column) => fn.count(column).as(column)))
        .compile(),
    );
  }

  /** The columns of all rows in key order. */
  selectAll(table: string, columns: readonly string[]): string {
    return this.#text(`s ${table} ${columns.join()}`, () => {
      let query = this.#builder.selectFrom(table).select([...columns]);
      for (const key of tableNamed(table).keys) query = query.orderBy(key);
      return query.compile();
    });
  }

  /** Keeps where a row stands. Parameters: the table, the storage key, the time, the keys. */
  noteRemoved(table: string): string {
    return this.#text(`r ${table}`, () => {
      const keys = tableNamed(table).keys.map((key) => `"${key}" = ?`);
      const row = `select ?, ?, ?, ${ordinalColumn} from "${table}" where ${keys.join(' and ')}`;
      return { sql: `insert or replace into ${removedTable} (name, key, time, ordinal) ${row}` };
    });
  }

  /** The next rows in key order: their ordinals and keys. Parameters: the keys to start after, how many. */
  selectOrdinals(table: string): string {
    const keys = tableNamed(table)
      .keys.map((key) => `"${key}"`)
      .join();
    const after = tableNamed(table).keys.map(() => '?');
    return `select coalesce(${ordinalColumn}, 0), ${keys} from "${table}" where (${keys}) > (${after.join()}) order by ${keys} limit ?`;
  }

  /** Parameters: a number to start after, the values of `where`, how many. */
  selectLog(table: string, where: readonly string[]): string {
    const { columns, keys } = tableNamed(table);
    return this.#text(`l ${table} ${where.join()}`, () => {
      let query = this.#builder
        .selectFrom(table)
        .select([...columns])
        .where(keys[0]!, '>', 0);
      for (const column of where) query = query.where(column, '=', '');
      return query.orderBy(keys[0]!).limit(1).compile();
    });
  }

  /** Parameters: the time before which rows go, how many at most. */
  prune(table: string, timeColumn: string, key: string): string {
    return this.#text(`p ${table}`, () =>
      this.#builder
        .deleteFrom(table)
        .where(key, 'in', this.#builder.selectFrom(table).select(key).where(timeColumn, '<', 0).orderBy(key).limit(1))
        .compile(),
    );
  }

  #text(shape: string, make: () => Pick<CompiledQuery, 'sql'>): string {
    let text = this.#texts.get(shape);
    if (text === undefined) this.#texts.set(shape, (text = make().sql));
    return text;
  }
}
