import { type CompiledQuery, type Kysely, sql } from 'kysely';
import type { AnyDatabase } from './own-tables.ts';
import { tableNamed } from './tables.ts';

/** SQL texts by shape, made once each, by kysely where it can say it; the parameters follow the order given here. */
export class Statements {
  protected readonly builder: Kysely<AnyDatabase>;
  readonly #texts = new Map<string, string>();

  constructor(builder: Kysely<AnyDatabase>) {
    this.builder = builder;
  }

  /** Parameters: the columns. */
  insert(table: string, columns: readonly string[]): string {
    return this.text(`i ${table} ${columns.join()}`, () => {
      const values = Object.fromEntries(columns.map((column) => [column, '']));
      return this.builder.insertInto(table).values(values).compile();
    });
  }

  /** Parameters: the columns, then the keys. */
  update(table: string, columns: readonly string[]): string {
    return this.text(`u ${table} ${columns.join()}`, () => {
      let query = this.builder.updateTable(table).set(Object.fromEntries(columns.map((column) => [column, ''])));
      for (const key of tableNamed(table).keys) query = query.where(key, '=', '');
      return query.compile();
    });
  }

  /** Parameters: the keys. */
  remove(table: string): string {
    return this.text(`d ${table}`, () => {
      let query = this.builder.deleteFrom(table);
      for (const key of tableNamed(table).keys) query = query.where(key, '=', '');
      return query.compile();
    });
  }

  /** How many rows have each column of the table. */
  countColumns(table: string): string {
    // Every start asks it of every table: kysely would take longer to write it than the database to answer.
    const counts = tableNamed(table).columns.map((column) => `count("${column}") as "${column}"`);
    return `select ${counts.join(', ')} from "${table}"`;
  }

  /** The columns of the first rows in key order. Parameter: how many. */
  selectFirst(table: string, columns: readonly string[]): string {
    return this.text(`f ${table} ${columns.join()}`, () => this.#page(table, columns).compile());
  }

  /** The same of the next rows. Parameters: the keys to go on after, how many. */
  selectNext(table: string, columns: readonly string[]): string {
    return this.text(`n ${table} ${columns.join()}`, () => {
      const { keys } = tableNamed(table);
      const names = sql.join(keys.map((key) => sql.ref(key)));
      const after = sql.join(keys.map(() => ''));
      return this.#page(table, columns).where(sql<boolean>`(${names}) > (${after})`).compile();
    });
  }

  #page(table: string, columns: readonly string[]) {
    let query = this.builder.selectFrom(table).select([...columns]);
    for (const key of tableNamed(table).keys) query = query.orderBy(key);
    return query.limit(1);
  }

  /** Parameters: a number to start after, the values of `where`, how many. */
  selectLog(table: string, where: readonly string[]): string {
    const { columns, keys } = tableNamed(table);
    return this.text(`l ${table} ${where.join()}`, () => {
      let query = this.builder
        .selectFrom(table)
        .select([...columns])
        .where(keys[0]!, '>', 0);
      for (const column of where) query = query.where(column, '=', '');
      return query.orderBy(keys[0]!).limit(1).compile();
    });
  }

  /** Parameters: the time before which rows go, how many at most. */
  prune(table: string, timeColumn: string, key: string): string {
    return this.text(`p ${table}`, () =>
      this.builder
        .deleteFrom(table)
        .where(key, 'in', this.builder.selectFrom(table).select(key).where(timeColumn, '<', 0).orderBy(key).limit(1))
        .compile(),
    );
  }

  protected text(shape: string, make: () => Pick<CompiledQuery, 'sql'>): string {
    let text = this.#texts.get(shape);
    if (text === undefined) this.#texts.set(shape, (text = make().sql));
    return text;
  }
}
