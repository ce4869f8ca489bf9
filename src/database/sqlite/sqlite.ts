import { Kysely, SqliteDialect } from 'kysely';
import { Worker } from 'node:worker_threads';
import type SQLite from 'better-sqlite3';
import { compileCache, programFile } from '../../core/home.ts';
import { inSlices, type Interruptible } from '../../core/slices.ts';
import { groupVolatile, type JournalChanges, rowCount, splitChanges } from '../changeset.ts';
import {
  type Batch,
  type ChangeSet,
  type Contents,
  type Database,
  type JournalEntry,
  type JournalQuery,
  type LogQuery,
  type NewSet,
  type Retention,
  WriteClash,
} from '../database.ts';
import { auditBlocks, readAudit, type StoredBlock } from '../audit-blocks.ts';
import { SharedTexts, tablesToLoad } from '../loaded-rows.ts';
import { type AnyDatabase, auditTable, journalTable, metaTable, sequenceTable } from '../own-tables.ts';
import type { Sealing } from '../sealing.ts';
import { changeSetsOf, type SequenceRow, setsPerPage } from '../sequence-rows.ts';
import type { SortedMap } from '../sorted-map.ts';
import { joinKey, type Row, tableNamed } from '../tables.ts';
import { DatabaseDamaged, explained, OpenedFile, openSqlite } from './connection.ts';
import { JournalReader } from './journal-reader.ts';
import { sealSecrets } from './seal-secrets.ts';
import { SqliteShared } from './shared-records.ts';
import { loadTable } from './load.ts';
import { SqliteStatements } from './statements.ts';
import type { Request, Response } from './worker.ts';
import type { ChangeSetText } from './writer.ts';

interface Pending {
  resolve: (latest: number) => void;
  reject: (error: Error) => void;
}

/** How often it is looked whether somebody else has committed: SQLite notifies nobody. */
const watchInterval = 100;
const ordinalsPerPage = 1_000;

const changesAfter = `
  select sequence, fence, latest.changes as volatile, journal.*
  from (select * from ${sequenceTable} where sequence > ? order by sequence limit ${setsPerPage}) as latest
  left join ${journalTable} as journal on journal.revision = latest.revision
  order by sequence, part`;

type Unnumbered<T> = T extends { id: number } ? Omit<T, 'id'> : never;

export interface OpenOptions {
  readonly sealing?: Sealing | undefined;
  /** Hears that nobody can go on with the database. */
  readonly damaged?: ((fault: DatabaseDamaged) => void) | undefined;
}

/** SQLite in one file: this thread only reads, a worker thread does all writing, so that a sync never holds up the event loop. */
export class SqliteDatabase implements Database {
  readonly #file: string;
  readonly #opened: OpenedFile;
  /** Hears once that nobody can go on with this database. */
  readonly #damaged: (fault: DatabaseDamaged) => void;
  readonly #worker: Worker;
  readonly #reader: SQLite.Database;
  readonly #statements: SqliteStatements;
  readonly #changesAfter: SQLite.Statement;
  readonly #latest: SQLite.Statement;
  readonly #auditBlocks: SQLite.Statement;
  /** Of each table: a dump of all tables would take longer to prepare than to read. */
  readonly #ordinalPages = new Map<string, SQLite.Statement>();
  readonly #journal: JournalReader;
  readonly shared: SqliteShared;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #ended: Error | undefined;

  /** Rows that had the names of secrets and were stored in clear text until now. */
  readonly newlySealed: readonly string[];

  private constructor(
    file: string,
    worker: Worker,
    reader: SQLite.Database,
    newlySealed: readonly string[],
    damaged: (fault: DatabaseDamaged) => void,
  ) {
    this.#file = file;
    this.#opened = new OpenedFile(file);
    this.newlySealed = newlySealed;
    this.#damaged = damaged;
    this.#worker = worker;
    this.#reader = reader;
    this.#statements = new SqliteStatements(
      new Kysely<AnyDatabase>({ dialect: new SqliteDialect({ database: reader }) }),
    );
    // Asked for several times a second while somebody writes.
    this.#changesAfter = reader.prepare(changesAfter);
    this.#latest = reader.prepare(`select sequence, fence from ${sequenceTable} order by sequence desc limit 1`);
    this.#auditBlocks = reader.prepare(
      `select first, records from ${auditTable} where first > ? order by first limit ?`,
    );
    this.#journal = new JournalReader(reader);
    this.shared = new SqliteShared(reader, (write) => this.#ask({ kind: 'shared', write }));
    worker.on('message', (response: Response) => this.#settle(response));
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => this.#fail(new Error('The thread that writes the database has ended.')));
  }

  /** Without `sealing` secrets stay as they are stored. */
  static async open(file: string, { sealing, damaged = () => undefined }: OpenOptions = {}): Promise<SqliteDatabase> {
    const worker = new Worker(programFile('database/sqlite/worker'), {
      workerData: { file },
      // A thread has the cache only if its environment names it.
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    });
    try {
      await new Promise<void>((resolve, reject) => {
        worker.once('message', ({ error }: Response) => (error ? reject(errorOf(error)) : resolve()));
        worker.once('error', reject);
      });
      const newlySealed = sealing ? sealSecrets(file, sealing) : [];
      return new SqliteDatabase(file, worker, openSqlite(file, { readonly: true }), newlySealed, damaged);
    } catch (error) {
      // A thread that is left keeps the process alive, which then neither serves nor ends.
      await worker.terminate();
      throw explained(error, file);
    }
  }

  async load(): Promise<Contents> {
    return this.#read(() => this.#load());
  }

  #load(): Contents {
    const read = this.#reader.transaction(() => {
      const meta = this.#reader.prepare(`select value from ${metaTable} where name = 'revision'`).get();
      const revision = Number((meta as { value: string }).value);
      const texts = new SharedTexts();
      const tables = tablesToLoad.map((table): [string, SortedMap<Row>] => [
        table.name,
        loadTable(this.#reader, this.#statements, table, texts),
      ]);
      return { revision, ...this.#position(), tables };
    });
    return read();
  }

  async write({ base, sets, audit }: Batch): Promise<number> {
    const id = ++this.#lastId;
    const texts = await inSlices(this.#texts(id, sets));
    return this.#ask({ kind: 'write', base, sets: texts, audit: auditBlocks(audit) }, id);
  }

  /** The change sets as text, but for parts of long ones, which the worker gets as soon as they are made. */
  *#texts(id: number, sets: readonly NewSet[]): Interruptible<ChangeSetText[]> {
    const texts: ChangeSetText[] = [];
    for (const [set, { changes, journal, isObservation }] of sets.entries()) {
      if (!journal) {
        texts.push({ rows: rowCount(changes), changes: JSON.stringify(groupVolatile(changes)), isObservation });
        continue;
      }
      let last = '';
      for (const part of splitChanges(changes)) {
        if (last !== '') this.#worker.postMessage({ id, kind: 'part', set, text: last } satisfies Request);
        yield;
        last = JSON.stringify(part);
        yield;
      }
      const { revision, time, user, client, command, run, reverts } = journal;
      texts.push({ journal: [revision, time, user, client, command, run, reverts ?? null], parts: [last] });
    }
    return texts;
  }

  async changesAfter(after: number): Promise<readonly ChangeSet[] | undefined> {
    return this.#read(() => this.#changesFrom(after));
  }

  #changesFrom(after: number): readonly ChangeSet[] | undefined {
    this.#opened.check();
    const sets = changeSetsOf(this.#changesAfter.iterate(after) as IterableIterator<SequenceRow>, after);
    // Whoever is ahead has followed another database.
    return sets?.length === 0 && this.#position().sequence !== after ? undefined : sets;
  }

  watch(changed: () => void): () => void {
    const version = this.#reader.prepare('pragma data_version').pluck();
    let seen: unknown;
    const timer = setInterval(() => {
      let latest: unknown;
      try {
        this.#opened.check();
        latest = version.get();
      } catch {
        // Whoever looks for changes now hears why that fails.
      }
      if (latest !== undefined && latest === seen) return;
      seen = latest;
      changed();
    }, watchInterval).unref();
    return () => clearInterval(timer);
  }

  silence(): number {
    return 0;
  }

  readJournal(query: JournalQuery): AsyncIterable<readonly JournalEntry[]> {
    return this.#readPieces(this.#journal.entries(query));
  }

  readChanges(after: number, until: number): AsyncIterable<readonly JournalChanges[]> {
    return this.#readPieces(this.#journal.changes(after, until));
  }

  async oldestEntry(): Promise<Pick<JournalEntry, 'revision' | 'time'> | undefined> {
    return this.#read(() => this.#journal.from(0));
  }

  async revisionAt(time: number): Promise<number | undefined> {
    return this.#read(() => this.#journal.revisionAt(time));
  }

  #position(): Pick<Contents, 'sequence' | 'fence'> {
    return (this.#latest.get() as Pick<Contents, 'sequence' | 'fence'> | undefined) ?? { sequence: 0, fence: 0 };
  }

  async readLog(query: LogQuery): Promise<Row[]> {
    return this.#read(() => this.#logRows(query));
  }

  async #logRows(query: LogQuery): Promise<Row[]> {
    const { table, where, after, limit } = query;
    if (table === 'auditlog')
      return readAudit((from, count) => this.#auditBlocks.all(from, count) as StoredBlock[], query);
    const statement = this.#reader.prepare(this.#statements.selectLog(table, Object.keys(where)));
    const rows = statement.all(after, ...Object.values(where), limit) as Record<string, string | number | null>[];
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).flatMap(([column, value]) => (value === null ? [] : [[column, String(value)]])),
      ),
    );
  }

  async storedOrder(table: string): Promise<string[]> {
    const stored = await this.#read(() => inSlices(this.#ordinals(table)));
    return stored.sort((a, b) => a.ordinal - b.ordinal).map(({ key }) => key);
  }

  *#ordinals(table: string): Interruptible<{ readonly ordinal: number; readonly key: string }[]> {
    let page = this.#ordinalPages.get(table);
    if (!page)
      this.#ordinalPages.set(table, (page = this.#reader.prepare(this.#statements.selectOrdinals(table)).raw()));
    const found: { ordinal: number; key: string }[] = [];
    for (let last = tableNamed(table).keys.map(() => ''); ; ) {
      const rows = page.all(...last, ordinalsPerPage) as [number, ...string[]][];
      for (const [ordinal, ...keys] of rows) found.push({ ordinal, key: joinKey((last = keys)) });
      if (rows.length < ordinalsPerPage) return found;
      yield;
    }
  }

  /** That was done when it was opened: nobody else works on it. */
  claimForm(): Promise<void> {
    return Promise.resolve();
  }

  async prune(retention: Retention): Promise<void> {
    await this.#ask({ kind: 'prune', retention });
  }

  async pruneLog(table: string, before: number, kept: readonly number[]): Promise<void> {
    await this.#ask({ kind: 'prune-log', table, before, kept });
  }

  async close(): Promise<void> {
    // The last connection that is closed brings all data into the main file, which one that only reads cannot.
    this.#reader.close();
    await this.#ask({ kind: 'close' });
  }

  #ask(request: Unnumbered<Request>, id = ++this.#lastId): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended);
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ ...request, id });
    });
  }

  #settle({ id, latest = 0, error }: Response): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (!error) pending?.resolve(latest);
    else pending?.reject(error.clash ? new WriteClash(error.message) : this.#explained(errorOf(error)));
  }

  async #read<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#explained(error);
    }
  }

  async *#readPieces<T>(pieces: AsyncIterable<T>): AsyncGenerator<T, void, void> {
    try {
      yield* pieces;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #explained(error: unknown): Error {
    const cause = explained(error, this.#file) as Error;
    if (cause instanceof DatabaseDamaged) this.#damaged(cause);
    return cause;
  }

  #fail(error: Error): void {
    this.#ended = error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

/** An error of the worker thread. */
const errorOf = ({ message, code }: NonNullable<Response['error']>): Error =>
  Object.assign(new Error(message), { code });
