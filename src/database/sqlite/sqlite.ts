import { Kysely, SqliteDialect } from 'kysely';
import { Worker } from 'node:worker_threads';
import type SQLite from 'better-sqlite3';
import { joinChanges, type JournalChanges, splitChanges } from '../changeset.ts';
import {
  type Batch,
  type Database,
  type JournalEntry,
  type LogQuery,
  type Retention,
  RevisionClash,
} from '../database.ts';
import type { SortedMap } from '../sorted-map.ts';
import { type Row, snapshotTables } from '../tables.ts';
import { auditBlocks, readAudit } from './audit-log.ts';
import { openSqlite } from './connection.ts';
import { loadTable, SharedTexts } from './load.ts';
import { type AnyDatabase, journalTable, metaTable, Statements } from './statements.ts';
import type { Request, Response } from './worker.ts';

interface Waiting {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** A row of the journal. */
type JournalText = Omit<JournalEntry, 'changes'> & { readonly changes: string };

type Unnumbered<T> = T extends { id: number } ? Omit<T, 'id'> : never;

/** SQLite in one file: this thread only reads, a worker thread does all writing, so that a sync never holds up the event loop. */
export class SqliteDatabase implements Database {
  readonly #worker: Worker;
  readonly #reader: SQLite.Database;
  readonly #statements: Statements;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #ended: Error | undefined;

  private constructor(worker: Worker, reader: SQLite.Database) {
    this.#worker = worker;
    this.#reader = reader;
    this.#statements = new Statements(new Kysely<AnyDatabase>({ dialect: new SqliteDialect({ database: reader }) }));
    worker.on('message', (response: Response) => this.#settle(response));
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => this.#fail(new Error('The thread that writes the database has ended.')));
  }

  static async open(file: string): Promise<SqliteDatabase> {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: { file } });
    await new Promise<void>((resolve, reject) => {
      worker.once('message', ({ error }: Response) => (error ? reject(new Error(error.message)) : resolve()));
      worker.once('error', reject);
    });
    return new SqliteDatabase(worker, openSqlite(file, { readonly: true }));
  }

  async load(): Promise<{ revision: number; tables: [table: string, rows: SortedMap<Row>][] }> {
    const read = this.#reader.transaction(() => {
      const meta = this.#reader.prepare(`select value from ${metaTable} where name = 'revision'`).get();
      const revision = Number((meta as { value: string }).value);
      const texts = new SharedTexts();
      const tables = snapshotTables.map((table): [string, SortedMap<Row>] => [
        table.name,
        loadTable(this.#reader, this.#statements, table, texts),
      ]);
      return { revision, tables };
    });
    return read();
  }

  write({ base, sets, audit }: Batch): Promise<void> {
    return this.#ask({
      kind: 'write',
      base,
      sets: sets.map(({ changes, journal }) => ({
        parts: splitChanges(changes).map((part) => JSON.stringify(part)),
        journal: journal && [
          journal.revision,
          journal.time,
          journal.user,
          journal.client,
          journal.command,
          journal.run,
        ],
      })),
      audit: auditBlocks(audit),
    });
  }

  async journalAfter(revision: number): Promise<JournalEntry[]> {
    const text = `select * from ${journalTable} where revision > ? order by revision, part`;
    const entries = new Map<number, JournalEntry>();
    for (const row of this.#reader.prepare(text).iterate(revision) as IterableIterator<JournalText>) {
      const part = JSON.parse(row.changes) as JournalChanges;
      const known = entries.get(row.revision);
      entries.set(row.revision, { ...row, changes: known ? joinChanges([known.changes, part]) : part });
    }
    return [...entries.values()];
  }

  async readLog(query: LogQuery): Promise<Row[]> {
    const { table, where, after, limit } = query;
    if (table === 'auditlog') return readAudit(this.#reader, query);
    const statement = this.#reader.prepare(this.#statements.selectLog(table, Object.keys(where)));
    const rows = statement.all(after, ...Object.values(where), limit) as Record<string, string | number | null>[];
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).flatMap(([column, value]) => (value === null ? [] : [[column, String(value)]])),
      ),
    );
  }

  prune(retention: Retention): Promise<void> {
    return this.#ask({ kind: 'prune', retention });
  }

  async close(): Promise<void> {
    await this.#ask({ kind: 'close' });
    this.#reader.close();
  }

  #ask(request: Unnumbered<Request>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended);
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...request, id });
    });
  }

  #settle({ id, error }: Response): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!error) waiting?.resolve();
    else waiting?.reject(error.clash ? new RevisionClash(error.message) : new Error(error.message));
  }

  #fail(error: Error): void {
    this.#ended = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
