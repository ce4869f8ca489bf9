import { Kysely, PostgresDialect, sql } from 'kysely';
import { type Client, type ClientBase, Pool } from 'pg';
import { Fault } from '../../core/errors.ts';
import { readAudit, type StoredBlock } from '../audit-blocks.ts';
import type { JournalChanges } from '../changeset.ts';
import {
  type Batch,
  type ChangeSet,
  type ChangesUse,
  type Contents,
  type Database,
  type JournalEntry,
  type JournalQuery,
  type LogQuery,
  type Retention,
  WriteClash,
} from '../database.ts';
import { type Form, refuseChanged } from '../form.ts';
import { SharedTexts, tablesToLoad } from '../loaded-rows.ts';
import { migrate, noteForm } from '../migrations.ts';
import { type AnyDatabase, auditTable, journalTable, metaTable, sequenceTable } from '../own-tables.ts';
import type { ServerKey } from '../sealing.ts';
import type { Announcement } from '../shared-records.ts';
import { changeSetsOf, type SequenceRow, setsPerPage } from '../sequence-rows.ts';
import type { SortedMap } from '../sorted-map.ts';
import { joinKey, type Row, tableNamed } from '../tables.ts';
import { type Channels, channelsOf } from './channels.ts';
import { clientClass, cutOff, newClient, patient } from './client.ts';
import { Connection } from './connection.ts';
import { storedForm, takeLock } from './form.ts';
import { History } from './history.ts';
import { JournalReader, wholeWithin } from './journal-reader.ts';
import { loadTable } from './load.ts';
import { Listener } from './listener.ts';
import { postgresSchema } from './migrations.ts';
import { clientConfig, explained, type PostgresPlace } from './place.ts';
import { pruneAll, pruneLog } from './prune.ts';
import { sealSecrets } from './seal-secrets.ts';
import { PostgresShared } from './shared-records.ts';
import { PostgresStatements } from './statements.ts';
import { Writer } from './writer.ts';

const readerCount = 4;
/** Bytes of change sets after which no other is begun. */
const bytesPerPage = 4_000_000;

export interface OpenOptions {
  /** Checks the key while no other server starts, and answers what it does. */
  readonly prepare?: ((claim: KeyClaim) => Promise<ServerKey>) | undefined;
}

const nextSets = `select sequence, fence, latest.changes as volatile, journal.*
  from (select * from ${sequenceTable} where sequence > $1 order by sequence limit ${setsPerPage}) as latest
  left join ${journalTable} as journal on journal.revision = latest.revision`;
const size = 'coalesce(octet_length(volatile), octet_length(changes), 0)';
const changesAfter = `select sized.*, ${storedForm} as form from (${wholeWithin(nextSets, 'sequence', 'asc', size)}) sized
  where before <= ${bytesPerPage} order by sequence, part`;

/** PostgreSQL, for any number of servers at once. */
export class PostgresDatabase implements Database {
  readonly #place: PostgresPlace;
  readonly #pool: Pool;
  readonly #statements: PostgresStatements;
  readonly #connection: Connection;
  /** For following the others, and for claims: both go on however many read. */
  readonly #following: Connection;
  readonly #claims: Connection;
  readonly #writer: Writer;
  readonly #journal: JournalReader;
  readonly #listener: Listener;
  readonly #history = new History();
  readonly #form: Form;
  readonly #builder: Kysely<AnyDatabase>;
  readonly shared: PostgresShared;

  /** Rows that had the names of secrets and were stored in clear text until now. */
  readonly newlySealed: readonly string[];

  private constructor(
    place: PostgresPlace,
    readers: Readers,
    builder: Kysely<AnyDatabase>,
    { newlySealed, form, channels }: Prepared,
  ) {
    const { pool } = readers;
    this.#form = form;
    this.#builder = builder;
    this.newlySealed = newlySealed;
    this.#place = place;
    this.#pool = pool;
    this.#statements = new PostgresStatements(builder);
    this.#connection = new Connection(place);
    this.#following = new Connection(place);
    this.#claims = new Connection(place);
    this.#writer = new Writer(this.#connection, this.#statements, form, channels.changes);
    this.#journal = new JournalReader(pool);
    this.#listener = new Listener(place, {
      channels,
      ownProcess: () => this.#connection.processId,
      unreachable: () => {
        for (const connection of [this.#connection, this.#following, this.#claims]) connection.drop();
        readers.cutOff();
      },
    });
    const hear = (heard: (announcement: Announcement) => void) => this.#listener.hear(heard);
    this.shared = new PostgresShared(place, { pool, claims: this.#claims, channel: channels.announcements, hear });
  }

  static async open(place: PostgresPlace, { prepare }: OpenOptions = {}): Promise<PostgresDatabase> {
    const readers = openReaders(place);
    const { pool } = readers;
    const builder = new Kysely<AnyDatabase>({ dialect: new PostgresDialect({ pool }) });
    try {
      const prepared = await alone(place, async (client) => {
        const form = await migrate(builder, postgresSchema);
        const key = await prepare?.(new KeyClaim(client));
        const newlySealed = key ? await sealSecrets(client, key) : [];
        return { form, channels: await channelsOf(client, key), newlySealed };
      });
      return new PostgresDatabase(place, readers, builder, prepared);
    } catch (error) {
      await pool.end();
      throw explained(error, place);
    }
  }

  load(): Promise<Contents> {
    return this.#read(() =>
      this.#following.use(async (client) => {
        try {
          await client.query('begin isolation level repeatable read read only');
          const contents = await this.#load(client);
          await client.query('commit');
          return contents;
        } catch (error) {
          this.#following.drop();
          throw error;
        }
      }),
    );
  }

  async #load(client: ClientBase): Promise<Contents> {
    await refuseHalfRestored(client);
    const meta = await client.query<{ value: string }>(`select value from ${metaTable} where name = 'revision'`);
    const revision = Number(meta.rows[0]!.value);
    const position = await positionOf(client);
    await this.#history.begin(client);
    const texts = new SharedTexts();
    const tables: [string, SortedMap<Row>][] = [];
    for (const table of tablesToLoad)
      tables.push([table.name, await loadTable(client, this.#statements, table, texts)]);
    return { revision, ...position, tables };
  }

  write(batch: Batch, again?: (latest: number) => Promise<Batch>): Promise<number> {
    return this.#read(async () => {
      if (this.#listener.isUnsure && !(await this.#following.use((client) => this.#history.isTheSame(client))))
        throw new WriteClash('The database was replaced by an earlier state of it.');
      let written = batch;
      const last = await this.#writer.write(batch, again && (async (latest) => (written = await again(latest))));
      this.#history.note(written.sets);
      return last;
    });
  }

  changesAfter(after: number, use: ChangesUse = 'follow'): Promise<readonly ChangeSet[] | undefined> {
    return this.#read(() =>
      use === 'read'
        ? this.#changesAfter(this.#pool, after)
        : this.#following.use((client) => this.#changesAfter(client, after)),
    );
  }

  async #changesAfter(reader: Pick<ClientBase, 'query'>, after: number): Promise<readonly ChangeSet[] | undefined> {
    const asked = performance.now();
    if (this.#listener.isUnsure && !(await this.#history.isTheSame(reader))) return undefined;
    const { rows } = await reader.query<SequenceRow & { readonly form: string | null }>({
      name: 'changes-after',
      text: changesAfter,
      values: [after],
    });
    if (rows[0]) refuseChanged(rows[0].form, this.#form);
    const sets = changeSetsOf(rows, after);
    this.#history.note(sets);
    if (sets?.length !== 0) return sets;
    // Whoever is ahead has followed another database. What was committed meanwhile is there for the next who asks.
    if ((await positionOf(reader)).sequence < after) return undefined;
    this.#listener.confirm(asked);
    return sets;
  }

  watch(changed: (latest?: number) => void, followed?: () => number): () => void {
    return this.#listener.watch(changed, followed);
  }

  silence(): number {
    return this.#listener.silence();
  }

  readJournal(query: JournalQuery): AsyncIterable<readonly JournalEntry[]> {
    return this.#readPieces(this.#journal.entries(query));
  }

  readChanges(after: number, until: number): AsyncIterable<readonly JournalChanges[]> {
    return this.#readPieces(this.#journal.changes(after, until));
  }

  oldestEntry(): Promise<Pick<JournalEntry, 'revision' | 'time'> | undefined> {
    return this.#read(() => this.#journal.from(0));
  }

  revisionAt(time: number): Promise<number | undefined> {
    return this.#read(() => this.#journal.revisionAt(time));
  }

  readLog(query: LogQuery): Promise<Row[]> {
    return this.#read(() => this.#logRows(query));
  }

  async #logRows(query: LogQuery): Promise<Row[]> {
    const { table, where, after, limit } = query;
    if (table === 'auditlog') {
      const text = `select first, records from ${auditTable} where first > $1 order by first limit $2`;
      return readAudit(async (from, count) => (await this.#pool.query<StoredBlock>(text, [from, count])).rows, query);
    }
    const text = this.#statements.selectLog(table, Object.keys(where));
    const { rows } = await this.#pool.query<Record<string, string | number | null>>(text, [
      after,
      ...Object.values(where),
      limit,
    ]);
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).flatMap(([column, value]) => (value === null ? [] : [[column, String(value)]])),
      ),
    );
  }

  storedOrder(table: string): Promise<string[]> {
    return this.#read(async () => {
      const text = this.#statements.selectStored(tableNamed(table).name);
      const { rows } = await this.#pool.query<string[]>({ text, rowMode: 'array' });
      return rows.map(joinKey);
    });
  }

  claimForm(): Promise<void> {
    return this.#read(() =>
      this.#builder.transaction().execute(async (transaction) => {
        const { rows } = await sql.raw<{ form: string | null }>(takeLock).execute(transaction);
        refuseChanged(rows[0]!.form, this.#form);
        await noteForm(transaction, this.#form);
      }),
    );
  }

  prune(retention: Retention): Promise<void> {
    return this.#read(() => pruneAll(this.#pool, this.#statements, retention));
  }

  pruneLog(table: string, before: number, kept: readonly number[]): Promise<void> {
    return this.#read(() => this.#connection.use((client) => pruneLog(client, table, before, kept)));
  }

  async close(): Promise<void> {
    this.#listener.close();
    for (const connection of [this.#connection, this.#following, this.#claims]) await connection.close();
    await this.#pool.end();
  }

  async #read<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explained(error, this.#place);
    }
  }

  async *#readPieces<T>(pieces: AsyncIterable<T>): AsyncGenerator<T, void, void> {
    try {
      yield* pieces;
    } catch (error) {
      throw explained(error, this.#place);
    }
  }
}

/** What was found out before it is used. */
interface Prepared {
  readonly form: Form;
  readonly channels: Channels;
  readonly newlySealed: readonly string[];
}

/** Connections for readers. */
interface Readers {
  readonly pool: Pool;
  /** Cuts all of them; new ones are made when they are needed. */
  cutOff(): void;
}

function openReaders(place: PostgresPlace): Readers {
  const config = { ...clientConfig(place), Client: clientClass(place) };
  const pool = new Pool({ ...config, max: readerCount, allowExitOnIdle: true });
  const open = new Set<ClientBase>();
  // A connection that is idle when the server ends is made again by whoever needs one.
  pool.on('error', () => undefined);
  // So is one that is lost while nobody waits for its answer; whoever asks next hears of it.
  pool.on('connect', (client) => void open.add(client.on('error', () => undefined)));
  pool.on('remove', (client) => void open.delete(client));
  return { pool, cutOff: () => open.forEach(cutOff) };
}

async function positionOf(reader: Pick<ClientBase, 'query'>): Promise<Pick<Contents, 'sequence' | 'fence'>> {
  const text = `select sequence, fence from ${sequenceTable} order by sequence desc limit 1`;
  return (await reader.query<Pick<Contents, 'sequence' | 'fence'>>(text)).rows[0] ?? { sequence: 0, fence: 0 };
}

/** Backups of PostgreSQL are restored table by table, and get their keys when all rows are there. */
async function refuseHalfRestored(client: ClientBase): Promise<void> {
  const text = `select 1 from pg_index where indrelid = '${sequenceTable}'::regclass and indisprimary`;
  if ((await client.query(text)).rows.length > 0) return;
  throw new Fault('unavailable', 'A backup of the database is being restored. Wait until that has ended.', {
    retryAfter: 5,
  });
}

/** A table that is there to be locked: whoever may only connect can take every lock but those on tables of others. */
const startTable = 'muster_start';

/** Works while no other server starts on the same database. */
async function alone<T>(place: PostgresPlace, work: (client: Client) => Promise<T>): Promise<T> {
  const [lock, client] = [newClient(place, patient), newClient(place, patient)];
  try {
    await Promise.all([lock.connect(), client.connect()]);
    // Two that start on an empty database at once both make it, and one of them fails; what else is wrong the lock says.
    await lock.query(`create table if not exists ${startTable} ()`).catch(() => undefined);
    await lock.query('begin');
    await lock.query(`lock table ${startTable} in access exclusive mode`);
    return await work(client);
  } finally {
    await Promise.all([lock.end(), client.end()]);
  }
}

export const keyMarker = 'key';

/** The fingerprint of the key that all servers on the database have. */
export class KeyClaim {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Undefined: no server has used the database yet. */
  async stored(): Promise<string | undefined> {
    const text = `select value from ${metaTable} where name = $1`;
    return (await this.#client.query<{ value: string }>(text, [keyMarker])).rows[0]?.value;
  }

  async store(fingerprint: string): Promise<void> {
    await this.#client.query(`insert into ${metaTable} (name, value) values ($1, $2)`, [keyMarker, fingerprint]);
  }
}
