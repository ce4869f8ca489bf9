import type SQLite from 'better-sqlite3';
import type { JournalChanges, JournalRow } from '../changeset.ts';
import type { Retention } from '../database.ts';
import { tableNamed } from '../tables.ts';
import { auditColumns } from './logs.ts';
import { journalTable, metaTable, type Statements } from './statements.ts';

const journalColumns = ['revision', 'time', 'user', 'client', 'command', 'run', 'part', 'changes'];
const auditRowsPerStatement = 50;

/** A change set as JSON text. `journal` holds the journal's columns up to `run`. */
export interface WriteSetText {
  readonly parts: readonly string[];
  readonly journal: readonly unknown[] | undefined;
}

function hasOneValue(values: readonly string[], first: number, step: number): boolean {
  for (let i = first + step; i < values.length; i += step) if (values[i] !== values[first]) return false;
  return true;
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
  write(base: number, sets: readonly WriteSetText[], audit: string): boolean {
    this.#run('begin immediate', []);
    try {
      const stored = this.#prepare(`select value from ${metaTable} where name = 'revision'`).get() as { value: string };
      if (Number(stored.value) !== base) {
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
      if (revision !== base) this.#run(`update ${metaTable} set value = ? where name = 'revision'`, [String(revision)]);
      if (audit !== '') this.#audit(JSON.parse(audit) as string[]);
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
      ['auditlog', 'audittime', 'recid', new Date(auditBefore).toISOString()],
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

  #audit(values: readonly string[]): void {
    const width = auditColumns.length;
    for (let from = 0; from < values.length; from += auditRowsPerStatement * width) {
      const rows = values.slice(from, from + auditRowsPerStatement * width);
      // Handing over a value costs more than storing it, and busy clients repeat themselves.
      const isShared = auditColumns.map((column, i) => column !== 'comments' && hasOneValue(rows, i, width));
      const shared = auditColumns.filter((_, i) => isShared[i]);
      const own = auditColumns.filter((_, i) => !isShared[i]);
      const parameters = rows.slice(0, width).filter((_, i) => isShared[i]);
      for (let i = 0; i < rows.length; i++) if (!isShared[i % width]) parameters.push(rows[i]!);
      this.#run(this.#statements.insertMany('auditlog', shared, own, rows.length / width), parameters);
    }
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
