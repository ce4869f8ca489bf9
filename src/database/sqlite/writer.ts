import type SQLite from 'better-sqlite3';
import type { JournalChanges, JournalRow } from '../changeset.ts';
import type { Retention } from '../database.ts';
import { tableNamed } from '../tables.ts';
import { type AuditBlock, auditTable } from './audit-log.ts';
import { journalTable, metaTable, type Statements } from './statements.ts';

const journalColumns = ['revision', 'time', 'user', 'client', 'command', 'run', 'part', 'changes'];
const auditBlockColumns = ['first', 'count', 'until', 'records'];

/** A change set as JSON text. `journal` holds the journal's columns up to `run`. */
export interface WriteSetText {
  readonly parts: readonly string[];
  readonly journal: readonly unknown[] | undefined;
}

/** Writes batches, each in one transaction. Runs in the worker thread. */
export class Writer {
  readonly #database: SQLite.Database;
  readonly #statements: Statements;
  readonly #prepared = new Map<string, SQLite.Statement>();

  constructor(database: SQLite.Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** True: nothing was written because the database is not at revision `base`. */
  write(base: number, sets: readonly WriteSetText[], audit: readonly AuditBlock[]): boolean {
    this.#run('begin immediate', []);
    try {
      if (this.#meta('revision') !== base) {
        this.#run('rollback', []);
        return true;
      }
      let revision = base;
      for (const { parts, journal } of sets) {
        for (const [part, changes] of parts.entries()) {
          this.#apply(JSON.parse(changes) as JournalChanges);
          if (journal) this.#run(this.#statements.insert(journalTable, journalColumns), [...journal, part, changes]);
        }
        if (journal) revision = journal[0] as number;
      }
      if (revision !== base) this.#setMeta('revision', revision);
      if (audit.length > 0) this.#audit(audit);
      this.#run('commit', []);
      return false;
    } catch (error) {
      if (this.#database.inTransaction) this.#run('rollback', []);
      throw error;
    }
  }

  prune({ journalBefore, auditBefore, eventsBefore }: Retention): void {
    const limits = [
      [journalTable, 'time', 'revision', journalBefore],
      [auditTable, 'until', 'first', auditBefore],
      ['eventlog', 'eventtime', 'recid', new Date(eventsBefore).toISOString()],
    ] as const;
    for (const [table, timeColumn, key, before] of limits) {
      const statement = this.#prepare(this.#statements.prune(table, timeColumn, key));
      while (statement.run(before, 1_000).changes > 0);
    }
  }

  #apply(changes: JournalChanges): void {
    for (const table in changes) {
      const { keys } = tableNamed(table);
      for (const row of changes[table]!) this.#applyRow(table, row, row[0].split('\u0000').slice(0, keys.length));
    }
  }

  #applyRow(table: string, [, before, after]: JournalRow, keyValues: string[]): void {
    if (after === null) this.#run(this.#statements.remove(table), keyValues);
    else if (before === null) this.#run(this.#statements.insert(table, Object.keys(after)), Object.values(after));
    else this.#run(this.#statements.update(table, Object.keys(after)), [...Object.values(after), ...keyValues]);
  }

  #audit(blocks: readonly AuditBlock[]): void {
    let first = this.#meta('audit');
    for (const { count, until, records } of blocks) {
      this.#run(this.#statements.insert(auditTable, auditBlockColumns), [first, count, until, records]);
      first += count;
    }
    this.#setMeta('audit', first);
  }

  #meta(name: string): number {
    const row = this.#prepare(`select value from ${metaTable} where name = ?`).get(name) as { value: string };
    return Number(row.value);
  }

  #setMeta(name: string, value: number): void {
    this.#run(`update ${metaTable} set value = ? where name = ?`, [String(value), name]);
  }

  #run(text: string, parameters: readonly unknown[]): void {
    this.#prepare(text).run(parameters);
  }

  #prepare(text: string): SQLite.Statement {
    let statement = this.#prepared.get(text);
    if (!statement) this.#prepared.set(text, (statement = this.#database.prepare(text)));
    return statement;
  }
}
