import type { Pool, QueryResult } from 'pg';
import { sharedTable } from '../own-tables.ts';
import {
  type Announcement,
  claimed,
  type ListedRecord,
  listing,
  replaced,
  sharedColumns,
  type SharedDialect,
  type SharedQuery,
  type SharedRecord,
  type SharedRecords,
  sharedStatements,
} from '../shared-records.ts';
import type { Connection } from './connection.ts';
import { explained, type PostgresPlace } from './place.ts';

const now = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
const dialect: SharedDialect = { now, position: 'strpos' };
const statements = sharedStatements(dialect);
const putAll = `insert into ${sharedTable} (${sharedColumns})
  select kind, name, holder, body, about, ${now}, ${now} + $6
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as given(kind, name, holder, body, about)
  ${replaced}`;
/** In the order of their names, so that two servers never wait for each other. */
const claimAll = `insert into ${sharedTable} (${sharedColumns})
  select $1, name, $4, body, null, ${now}, ${now} + $5
  from unnest($2::text[], $3::text[]) as given(name, body) order by name ${claimed(now)}`;
const othersOf = `select kind, name, holder, body from ${sharedTable}
  where kind = $1 and name = any($2::text[]) and holder <> $3 and until > ${now}`;
const releaseAll = `delete from ${sharedTable} using (
    select name from ${sharedTable} where kind = $1 and name = any($2::text[]) and holder = $3 order by name for update
  ) as own where kind = $1 and ${sharedTable}.name = own.name`;
const removeAll = `delete from ${sharedTable} where kind = $1 and name = any($2::text[])`;

/** Forgets records whose time is over. */
export const pruneShared = (pool: Pool): Promise<unknown> => pool.query(statements.prune);

interface Parts {
  readonly pool: Pool;
  readonly claims: Connection;
  readonly channel: string;
  readonly hear: SharedRecords['hear'];
}

export class PostgresShared implements SharedRecords {
  readonly isAlone = false;
  readonly #place: PostgresPlace;
  readonly #pool: Pool;
  /** For claims alone: whoever cannot renew in time because others read loses what it has. */
  readonly #claims: Connection;
  /** Whoever listens there hears what servers announce. */
  readonly #channel: string;
  readonly #hear: SharedRecords['hear'];

  constructor(place: PostgresPlace, { pool, claims, channel, hear }: Parts) {
    this.#place = place;
    this.#pool = pool;
    this.#claims = claims;
    this.#channel = channel;
    this.#hear = hear;
  }

  async claim({ kind, name, holder, body }: SharedRecord, milliseconds: number): Promise<boolean> {
    const { rowCount } = await this.#queryClaims(statements.claim, [kind, name, holder, body, milliseconds]);
    return rowCount === 1;
  }

  async claimAll(records: readonly SharedRecord[], milliseconds: number): Promise<SharedRecord[]> {
    const [first] = records;
    if (!first) return [];
    const { kind, holder } = first;
    const names = records.map(({ name }) => name);
    const bodies = records.map(({ body }) => body);
    for (;;) {
      const { rowCount } = await this.#queryClaims(claimAll, [kind, names, bodies, holder, milliseconds]);
      const refused = records.length - (rowCount ?? 0);
      if (refused === 0) return [];
      const others: SharedRecord[] = (await this.#queryClaims(othersOf, [kind, names, holder])).rows;
      // Else some were released in between, and belong to nobody.
      if (others.length >= refused) return others;
    }
  }

  async releaseAll(kind: string, names: readonly string[], holder: string): Promise<void> {
    await this.#queryClaims(releaseAll, [kind, names, holder]);
  }

  async shorten(kinds: readonly string[], milliseconds: number): Promise<void> {
    for (const kind of kinds) await this.#queryClaims(statements.shorten, [kind, milliseconds]);
  }

  async release({ kind, name, holder }: Pick<SharedRecord, 'kind' | 'name' | 'holder'>): Promise<void> {
    await this.#queryClaims(statements.release, [kind, name, holder]);
  }

  async put(records: readonly SharedRecord[], milliseconds: number): Promise<void> {
    const columns = (['kind', 'name', 'holder', 'body', 'about'] as const).map((name) =>
      records.map((record) => record[name] ?? null),
    );
    await this.#query(putAll, [...columns, milliseconds]);
  }

  async get(kind: string, name: string): Promise<SharedRecord | undefined> {
    return (await this.#query<SharedRecord>(statements.get, [kind, name])).rows[0];
  }

  async list(query: SharedQuery): Promise<ListedRecord[]> {
    const { text, values } = listing(dialect, query);
    return (await this.#query<ListedRecord>(text, values)).rows;
  }

  async remove(kind: string, names: readonly string[]): Promise<void> {
    await this.#query(removeAll, [kind, names]);
  }

  async announce(announcement: Announcement): Promise<void> {
    await this.#query('select pg_notify($1, $2)', [this.#channel, JSON.stringify(announcement)]);
  }

  hear(heard: (announcement: Announcement) => void): () => void {
    return this.#hear(heard);
  }

  async clock(): Promise<number> {
    const { rows } = await this.#query<{ readonly time: string | number }>(`select ${now} as time`, []);
    return Number(rows[0]!.time);
  }

  #query<Row extends object>(text: string, values: readonly unknown[]): Promise<QueryResult<Row>> {
    return this.#explaining(() => this.#pool.query<Row>(text, [...values]));
  }

  #queryClaims(text: string, values: readonly unknown[]): Promise<QueryResult> {
    return this.#explaining(() => this.#claims.use((client) => client.query(text, [...values])));
  }

  async #explaining<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explained(error, this.#place);
    }
  }
}
