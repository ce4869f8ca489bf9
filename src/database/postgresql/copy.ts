import type { Client } from 'pg';
import { Fault } from '../../core/errors.ts';
import type { CopiedTable } from '../copied-tables.ts';
import { metaTable, removedTable } from '../own-tables.ts';
import { tables } from '../tables.ts';
import { channelsMarker } from './channels.ts';
import { newClient, patient } from './client.ts';
import { explained, type PostgresPlace, shownPlace } from './place.ts';
import { keyMarker, PostgresDatabase } from './postgresql.ts';
import { plainKey, storedKey } from './row-statements.ts';

type Value = string | number | null;
type Rows = readonly (readonly Value[])[];

const rowsAtOnce = 2_000;

/** A PostgreSQL database that everything is read from or written to, in one transaction that no other writer comes into. */
export class PostgresCopy {
  readonly #client: Client;
  readonly #fingerprint: string;

  private constructor(client: Client, fingerprint: string) {
    this.#client = client;
    this.#fingerprint = fingerprint;
  }

  static async source(place: PostgresPlace, fingerprint: string): Promise<PostgresCopy> {
    const copy = await PostgresCopy.#open(place, fingerprint);
    return copy.#checked(async () => {
      const stored = await copy.#key();
      if (stored === fingerprint) return;
      throw new Fault(
        'unavailable',
        `The secrets in ${shownPlace(place)} are encrypted with another key than that of the data directory. Put the secret.key of its servers there.`,
      );
    });
  }

  /** Refuses a database that has been used. */
  static async target(place: PostgresPlace, fingerprint: string): Promise<PostgresCopy> {
    const copy = await PostgresCopy.#open(place, fingerprint);
    return copy.#checked(async () => {
      if ((await copy.#key()) !== undefined)
        throw new Fault(
          'unavailable',
          `The database ${shownPlace(place)} holds the data of a cluster already. Name an empty one.`,
        );
      await copy.#client.query(`delete from ${metaTable}`);
    });
  }

  static async #open(place: PostgresPlace, fingerprint: string): Promise<PostgresCopy> {
    await (await PostgresDatabase.open(place)).close();
    const client = newClient(place, patient);
    try {
      await client.connect();
      await client.query('begin isolation level read committed');
      await client.query(`select 1 from ${metaTable} where name = 'revision' for update`);
    } catch (error) {
      throw explained(error, place);
    }
    return new PostgresCopy(client, fingerprint);
  }

  async #checked(check: () => Promise<void>): Promise<this> {
    try {
      await check();
      return this;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #key(): Promise<string | undefined> {
    const text = `select value from ${metaTable} where name = $1`;
    return (await this.#client.query<{ value: string }>(text, [keyMarker])).rows[0]?.value;
  }

  async *read({ name, texts, numbers, keys }: CopiedTable): AsyncGenerator<Rows, void, void> {
    const columns = [...texts, ...numbers].map((column) => `"${column}"`).join();
    // Keys of muster's own tables have the collation of the database.
    const order = keys.map((key) => (texts.includes(key) ? `"${key}" collate "C"` : `"${key}"`)).join();
    const where = name === metaTable ? ` where name not in ('${keyMarker}', '${channelsMarker}')` : '';
    await this.#client.query(`declare copied cursor for select ${columns} from "${name}"${where} order by ${order}`);
    for (;;) {
      const { rows } = await this.#client.query<Value[]>({
        text: `fetch ${rowsAtOnce} from copied`,
        rowMode: 'array',
      });
      if (rows.length > 0) yield name === removedTable ? withKeys(rows, plainKey) : rows;
      if (rows.length < rowsAtOnce) break;
    }
    await this.#client.query('close copied');
  }

  async write({ name, texts, numbers }: CopiedTable, rows: Rows): Promise<void> {
    const columns = [...texts, ...numbers];
    const types = [...texts.map(() => 'text'), ...numbers.map(() => 'bigint')];
    const arrays = types.map((type, i) => `$${i + 1}::${type}[]`).join();
    const stored = name === removedTable ? withKeys(rows, (_table, key) => storedKey(key)) : rows;
    await this.#client.query(
      `insert into "${name}" (${columns.map((column) => `"${column}"`).join()}) select * from unnest(${arrays})`,
      columns.map((_, column) => stored.map((row) => row[column])),
    );
  }

  async finish(): Promise<void> {
    for (const { name, keys, log } of tables.values()) {
      if (!log || name === 'auditlog') continue;
      const text = `select setval(pg_get_serial_sequence('${name}', '${keys[0]}'), greatest(max(${keys[0]}), 1)) from ${name}`;
      await this.#client.query(text);
    }
    await this.#client.query(`insert into ${metaTable} (name, value) values ($1, $2)`, [keyMarker, this.#fingerprint]);
    await this.#client.query('commit');
  }

  /** Ends the transaction too. */
  async close(): Promise<void> {
    await this.#client.end();
  }
}

/** Rows of the table of what was removed, with their keys in another form. */
const withKeys = (rows: Rows, keyOf: (table: string, key: string) => string): Rows =>
  rows.map(([table, key, ...rest]) => [table!, keyOf(String(table), String(key)), ...rest]);
