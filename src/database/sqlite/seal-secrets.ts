import type SQLite from 'better-sqlite3';
import type { JournalChanges, JournalColumns } from '../changeset.ts';
import { hidden, isCalledSecret, secretColumns, secretColumnsOf, secretNamesDigest } from '../secret-columns.ts';
import { keyOf, type Row, snapshotTables, type Table } from '../tables.ts';
import { auditTable } from './audit-log.ts';
import { explained, openSqlite } from './connection.ts';
import { journalTable, metaTable } from './statements.ts';

/** Values of columns with secrets, each with the context that it was sealed for. A database of an older form may lack tables. */
export function* storedSecrets(file: string): Generator<{ readonly value: string; readonly context: string }> {
  const database = openSqlite(file, { readonly: true });
  try {
    const present = new Set(database.prepare("select name from sqlite_schema where type = 'table'").pluck().all());
    for (const table of snapshotTables) {
      if (!present.has(table.name) || (table.secret.size === 0 && !table.namesSecrets)) continue;
      for (const row of database.prepare(`select * from "${table.name}"`).iterate() as IterableIterator<Row>) {
        for (const column of secretColumns(table, row)) {
          const value = row[column];
          if (value) yield { value, context: `${table.name}.${column}` };
        }
      }
    }
  } catch (error) {
    throw explained(error, file);
  } finally {
    database.close();
  }
}

/** How secrets are stored. */
export interface Sealing {
  seal(clear: string, context: string): string;
  isSealed(text: string): boolean;
}

const marker = 'secret-names';
const namingTables = snapshotTables.filter(({ namesSecrets }) => namesSecrets !== undefined);

/**
 * Seals what was stored in clear text because its name was not among those of secrets then, in the tables and in the journal, and takes
 * such values out of the audit log. Done once for every list of names. Answers which values of today it sealed, as `site.apitoken`.
 */
export function sealSecrets(file: string, sealing: Sealing): string[] {
  const database = openSqlite(file);
  try {
    const done = database.prepare(`select value from ${metaTable} where name = ?`).pluck().get(marker);
    if (done === secretNamesDigest) return [];
    // What is written over is not left in the free space of the file.
    database.pragma('secure_delete = on');
    const found = database.transaction(() => {
      const rewrite = new Rewrite(database, sealing);
      const names = namingTables.flatMap((table) => rewrite.table(table));
      rewrite.journal();
      rewrite.audit();
      database
        .prepare(`insert or replace into ${metaTable} (name, value) values (?, ?)`)
        .run(marker, secretNamesDigest);
      return names;
    })();
    database.pragma('wal_checkpoint(truncate)');
    return found;
  } finally {
    database.close();
  }
}

class Rewrite {
  readonly #database: SQLite.Database;
  readonly #sealing: Sealing;
  /** The same text is sealed once: a revert compares what the journal has with what is stored. */
  readonly #sealed = new Map<string, string>();

  constructor(database: SQLite.Database, sealing: Sealing) {
    this.#database = database;
    this.#sealing = sealing;
  }

  table(table: Table): string[] {
    const found: string[] = [];
    for (const row of this.#database.prepare(`select * from "${table.name}"`).all() as Row[]) {
      const key = keyOf(table, row);
      const sealed = this.#columns(table, key, row);
      if (sealed === row) continue;
      found.push(`${table.name}.${row[table.namesSecrets!.name]!}`);
      const columns = [...secretColumnsOf(table, key)];
      const set = columns.map((column) => `"${column}" = ?`).join(', ');
      const where = table.keys.map((column) => `"${column}" = ?`).join(' and ');
      this.#database
        .prepare(`update "${table.name}" set ${set} where ${where}`)
        .run(...columns.map((column) => sealed[column]), ...table.keys.map((column) => row[column]));
    }
    return found;
  }

  journal(): void {
    for (const table of namingTables) {
      const entries = this.#database
        .prepare(`select revision, part, changes from ${journalTable} where instr(changes, ?) > 0`)
        .all(`"${table.name}":[`) as { revision: number; part: number; changes: string }[];
      const update = this.#database.prepare(`update ${journalTable} set changes = ? where revision = ? and part = ?`);
      for (const { revision, part, changes: text } of entries) {
        const changes = JSON.parse(text) as JournalChanges;
        const rows = (changes[table.name] ?? []).map(([key, before, after]) => [
          key,
          before && this.#columns(table, key, before),
          after && this.#columns(table, key, after),
        ]);
        const sealed = JSON.stringify({ ...changes, [table.name]: rows });
        if (sealed !== text) update.run(sealed, revision, part);
      }
    }
  }

  audit(): void {
    const update = this.#database.prepare(`update ${auditTable} set records = ? where first = ?`);
    for (const { namesSecrets, name } of namingTables) {
      for (const column of namesSecrets!.values) {
        const value = ` ${name}.${column}=`;
        const blocks = this.#database
          .prepare(`select first, records from ${auditTable} where instr(records, ?) > 0`)
          .all(value) as { first: number; records: string }[];
        for (const { first, records } of blocks) {
          const shown = (JSON.parse(records) as (string | number)[][]).map((record) =>
            record.map((text) => (typeof text === 'string' ? withoutValue(text, value, namesSecrets!.name) : text)),
          );
          update.run(JSON.stringify(shown), first);
        }
      }
    }
  }

  #columns<T extends JournalColumns>(table: Table, key: string, columns: T): T {
    let sealed: Record<string, string | null> | undefined;
    for (const column of secretColumnsOf(table, key)) {
      const value = columns[column];
      if (value && !this.#sealing.isSealed(value))
        (sealed ??= { ...columns })[column] = this.#once(value, `${table.name}.${column}`);
    }
    return (sealed as T | undefined) ?? columns;
  }

  #once(clear: string, context: string): string {
    const name = `${context}=${clear}`;
    const known = this.#sealed.get(name);
    if (known !== undefined) return known;
    const sealed = this.#sealing.seal(clear, context);
    this.#sealed.set(name, sealed);
    return sealed;
  }
}

/** The arguments of a request that wrote a row, up to its value if the row has the name of a secret. */
function withoutValue(args: string, value: string, naming: string): string {
  const at = args.indexOf(value);
  if (at < 0) return args;
  const names = args.matchAll(new RegExp(`\\b${naming}=([^,\\s]+)`, 'g'));
  return names.some(([, name]) => isCalledSecret(name!)) ? args.slice(0, at + value.length) + hidden : args;
}
