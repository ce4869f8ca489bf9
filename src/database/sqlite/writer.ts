import type SQLite from 'better-sqlite3';
import type { JournalChanges, JournalRow, VolatileChanges } from '../changeset.ts';
import type { Retention } from '../database.ts';
import type { AuditBlock } from '../audit-blocks.ts';
import {
  auditTable,
  journalTable,
  keptInSequence,
  metaTable,
  ordinalColumn,
  ordinalsPerSet,
  removedTable,
  sequenceTable,
} from '../own-tables.ts';
import { tableNamed } from '../tables.ts';
import { writeShared } from './shared-records.ts';
import type { SqliteStatements } from './statements.ts';

const journalColumns = ['revision', 'time', 'user', 'client', 'command', 'run', 'reverts', 'part', 'changes'];
const auditBlockColumns = ['first', 'count', 'until', 'records'];
const sequenceColumns = ['sequence', 'total', 'fence', 'revision', 'changes'];

/** The journal's columns up to `reverts`. */
type JournalOrigin = readonly [
  revision: number,
  time: number,
  user: string,
  client: string,
  command: string,
  run: string,
  reverts: number | null,
];

/** What becomes of a row that a change set adds or removes: `takesBack`, it may go where it was. */
interface Place {
  readonly ordinal: number;
  readonly time: number;
  readonly takesBack: boolean;
}

/** A change set as JSON text: its parts with where they come from, or how many rows it has and its `VolatileChanges`. */
export type ChangeSetText =
  | { readonly journal: JournalOrigin; readonly parts: readonly string[] }
  | { readonly journal?: never; readonly rows: number; readonly changes: string; readonly isObservation: boolean };

interface Latest {
  readonly sequence: number;
  readonly total: number;
  readonly fence: number;
}

/** Writes batches, each in one transaction. Runs in the worker thread. */
export class Writer {
  readonly #database: SQLite.Database;
  readonly #statements: SqliteStatements;
  readonly #prepared = new Map<string, SQLite.Statement>();
  #latestUpdate: { table: string; columns: readonly string[]; statement: SQLite.Statement } | undefined;

  constructor(database: SQLite.Database, statements: SqliteStatements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** The sequence of the latest change set; undefined: nothing was written because `base` is not the fence of that. */
  write(base: number | undefined, sets: readonly ChangeSetText[], audit: readonly AuditBlock[]): number | undefined {
    this.#run('begin immediate', []);
    try {
      let { sequence, total, fence } = this.#latest();
      if (base !== undefined && base !== fence) {
        this.#run('rollback', []);
        return undefined;
      }
      let revision: number | undefined;
      for (const set of sets) {
        sequence++;
        if (set.journal) {
          this.#writeJournalled(set, sequence);
          [revision] = set.journal;
        } else this.#writeVolatile(set);
        total += set.journal ? 1 : set.rows;
        if (set.journal || !set.isObservation) fence++;
        const placed = [sequence, total, fence, set.journal?.[0] ?? null, set.journal ? null : set.changes];
        this.#run(this.#statements.insert(sequenceTable, sequenceColumns), placed);
      }
      if (revision !== undefined) this.#setMeta('revision', revision);
      if (sets.length > 0) this.#dropSequence(total - keptInSequence);
      if (audit.length > 0) this.#audit(audit);
      this.#run('commit', []);
      return sequence;
    } catch (error) {
      if (this.#database.inTransaction) this.#run('rollback', []);
      throw error;
    }
  }

  #latest(): Latest {
    const text = `select sequence, total, fence from ${sequenceTable} order by sequence desc limit 1`;
    return (this.#prepare(text).get() as Latest | undefined) ?? { sequence: 0, total: 0, fence: 0 };
  }

  #writeJournalled({ journal, parts }: Extract<ChangeSetText, { parts: unknown }>, sequence: number): void {
    let ordinal = sequence * ordinalsPerSet;
    const [, time, , , , , reverts] = journal;
    const takesBack = reverts !== null;
    for (const [part, changes] of parts.entries()) {
      for (const [table, rows] of Object.entries(JSON.parse(changes) as JournalChanges))
        for (const row of rows) this.#applyRow(table, row, { ordinal: ordinal++, time, takesBack });
      this.#run(this.#statements.insert(journalTable, journalColumns), [...journal, part, changes]);
    }
  }

  #writeVolatile({ changes }: Extract<ChangeSetText, { rows: unknown }>): void {
    for (const [table, groups] of Object.entries(JSON.parse(changes) as VolatileChanges)) {
      for (const [after, keys] of groups) {
        const statement = this.#prepare(this.#statements.update(table, Object.keys(after)));
        const values = Object.values(after);
        for (const key of keys) statement.run([...values, ...keyValues(table, key)]);
      }
    }
  }

  #dropSequence(until: number): void {
    const firstKept = `select sequence from ${sequenceTable} where total > ? order by sequence limit 1`;
    this.#run(`delete from ${sequenceTable} where sequence < (${firstKept})`, [until]);
  }

  prune({ journalBefore, auditBefore, eventsBefore }: Retention): void {
    writeShared(this.#database, { statement: 'prune', values: [[]] });
    const limits = [
      [journalTable, 'time', 'revision', journalBefore],
      [auditTable, 'until', 'first', auditBefore],
      ['eventlog', 'eventtime', 'recid', new Date(eventsBefore).toISOString()],
    ] as const;
    this.#run(`delete from ${removedTable} where time < ?`, [journalBefore]);
    for (const [table, timeColumn, key, before] of limits) {
      const statement = this.#prepare(this.#statements.prune(table, timeColumn, key));
      while (statement.run(before, 1_000).changes > 0);
    }
  }

  pruneLog(table: string, before: number, kept: readonly number[]): void {
    if (table !== 'auditlog') {
      const [key] = tableNamed(table).keys;
      this.#run(`delete from ${table} where ${key} < ?`, [before]);
      return;
    }
    this.#database.transaction(() => {
      const stays = [...kept.map((number) => [number, number + 1] as const), [before, Infinity] as const];
      const blocks = stays.flatMap(([from, to]) => this.#auditPieces(from, to));
      this.#run(`delete from ${auditTable} where first < ?`, [before]);
      for (const block of blocks) this.#run(this.#statements.insert(auditTable, auditBlockColumns), block);
    })();
  }

  /** The records of one block from one number to another, as a block of their own; none if there are none. */
  #auditPieces(from: number, to: number): (readonly (number | string)[])[] {
    const text = `select first, until, records from ${auditTable} where first <= ? order by first desc limit 1`;
    const block = this.#prepare(text).get(from) as (AuditBlock & { readonly first: number }) | undefined;
    // One that begins there is not cut, and stays.
    if (!block || (block.first === from && to === Infinity)) return [];
    const records = (JSON.parse(block.records) as unknown[]).slice(from - block.first, to - block.first);
    return records.length === 0 ? [] : [[from, records.length, block.until, JSON.stringify(records)]];
  }

  #applyRow(table: string, [key, before, after]: JournalRow, { ordinal, time, takesBack }: Place): void {
    if (after === null) {
      this.#run(this.#statements.noteRemoved(table), [table, key, time, ...keyValues(table, key)]);
      this.#run(this.#statements.remove(table), keyValues(table, key));
    } else if (before === null) {
      const insert = this.#statements.insert(table, [...Object.keys(after), ordinalColumn]);
      const former = takesBack ? this.#former(table, key) : undefined;
      this.#run(insert, [...Object.values(after), former ? former.ordinal : ordinal]);
    } else this.#updateOf(table, Object.keys(after)).run([...Object.values(after), ...keyValues(table, key)]);
  }

  /** Where a row stood before it was removed. */
  #former(table: string, key: string): { readonly ordinal: number | null } | undefined {
    const text = `select ordinal from ${removedTable} where name = ? and key = ?`;
    return this.#prepare(text).get(table, key) as { ordinal: number | null } | undefined;
  }

  /** Thousands of rows change in the same columns, one after the other. */
  #updateOf(table: string, columns: readonly string[]): SQLite.Statement {
    const latest = this.#latestUpdate;
    if (latest?.table === table && isSame(latest.columns, columns)) return latest.statement;
    const statement = this.#prepare(this.#statements.update(table, columns));
    this.#latestUpdate = { table, columns, statement };
    return statement;
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

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, at) => text === b[at]);

const keyValues = (table: string, key: string): string[] =>
  key.includes('\u0000') ? key.split('\u0000').slice(0, tableNamed(table).keys.length) : [key];
