import { existsSync, renameSync, rmSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type SQLite from 'better-sqlite3';
import type { CopiedTable } from '../copied-tables.ts';
import { openSqlite } from './connection.ts';
import { SqliteDatabase } from './sqlite.ts';

type Rows = readonly (readonly (string | number | null)[])[];

const rowsAtOnce = 2_000;

/** A SQLite file that everything is read from, or written to under another name until it is complete. */
export class SqliteCopy {
  readonly #database: SQLite.Database;
  readonly #file: string;
  readonly #final: string | undefined;

  private constructor(file: string, final: string | undefined) {
    this.#file = file;
    this.#final = final;
    this.#database = openSqlite(file);
    this.#database.exec('begin immediate');
  }

  /** Brought to the form of this version first. */
  static async source(file: string): Promise<SqliteCopy> {
    await (await SqliteDatabase.open(file)).close();
    return new SqliteCopy(file, undefined);
  }

  static async target(file: string): Promise<SqliteCopy> {
    const partial = `${file}.partial`;
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(`${partial}${ending}`, { force: true });
    await (await SqliteDatabase.open(partial)).close();
    const copy = new SqliteCopy(partial, file);
    copy.#database.exec('delete from muster_meta');
    return copy;
  }

  async *read({ name, texts, numbers, keys }: CopiedTable): AsyncGenerator<Rows, void, void> {
    const quoted = (columns: readonly string[]): string => columns.map((column) => `"${column}"`).join();
    const statement = this.#database.prepare(
      `select ${quoted([...texts, ...numbers])} from "${name}" order by ${quoted(keys)}`,
    );
    let rows: (string | number | null)[][] = [];
    for (const row of statement.raw().iterate() as IterableIterator<(string | number | null)[]>) {
      rows.push(row);
      if (rows.length < rowsAtOnce) continue;
      yield rows;
      rows = [];
    }
    if (rows.length > 0) yield rows;
    await setImmediate();
  }

  async write({ name, texts, numbers }: CopiedTable, rows: Rows): Promise<void> {
    const columns = [...texts, ...numbers];
    const values = columns.map(() => '?').join();
    const statement = this.#database.prepare(
      `insert into "${name}" (${columns.map((column) => `"${column}"`).join()}) values (${values})`,
    );
    for (const row of rows) statement.run(row);
    await setImmediate();
  }

  async finish(): Promise<void> {
    this.#database.exec('commit');
    this.#database.pragma('wal_checkpoint(truncate)');
    this.#database.close();
    if (this.#final !== undefined) renameSync(this.#file, this.#final);
  }

  async close(): Promise<void> {
    if (this.#database.open) this.#database.close();
    if (this.#final !== undefined && existsSync(this.#file))
      for (const ending of ['', '-wal', '-shm']) rmSync(`${this.#file}${ending}`, { force: true });
  }
}
