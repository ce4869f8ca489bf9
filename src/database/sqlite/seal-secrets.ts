import type SQLite from 'better-sqlite3';
import { auditTexts, journalText, namingTables, sealedMarker, Sealer, type Sealing } from '../sealing.ts';
import { secretColumns, secretNamesDigest } from '../secret-columns.ts';
import { type Row, snapshotTables, type Table } from '../tables.ts';

import { explained, openSqlite } from './connection.ts';
import { auditTable, journalTable, metaTable } from '../own-tables.ts';

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

/**
 * Seals what was stored in clear text because its name was not among those of secrets then, in the tables and in the journal, and takes
 * such values out of the audit log. Done once for every list of names. Answers which values of today it sealed, as `site.apitoken`.
 */
export function sealSecrets(file: string, sealing: Sealing): string[] {
  const database = openSqlite(file);
  try {
    const done = database.prepare(`select value from ${metaTable} where name = ?`).pluck().get(sealedMarker);
    if (done === secretNamesDigest) return [];
    // What is written over is not left in the free space of the file.
    database.pragma('secure_delete = on');
    const found = database.transaction(() => {
      const sealer = new Sealer(sealing);
      const names = namingTables.flatMap((table) => sealTable(database, sealer, table));
      for (const table of namingTables) sealLogs(database, sealer, table);
      database
        .prepare(`insert or replace into ${metaTable} (name, value) values (?, ?)`)
        .run(sealedMarker, secretNamesDigest);
      return names;
    })();
    database.pragma('wal_checkpoint(truncate)');
    return found;
  } finally {
    database.close();
  }
}

function sealTable(database: SQLite.Database, sealer: Sealer, table: Table): string[] {
  const found: string[] = [];
  for (const row of database.prepare(`select * from "${table.name}"`).all() as Row[]) {
    const sealed = sealer.row(table, row);
    if (!sealed) continue;
    found.push(sealed.name);
    const set = sealed.columns.map((column) => `"${column}" = ?`).join(', ');
    const where = table.keys.map((column) => `"${column}" = ?`).join(' and ');
    database
      .prepare(`update "${table.name}" set ${set} where ${where}`)
      .run(...sealed.values, ...table.keys.map((column) => row[column]));
  }
  return found;
}

function sealLogs(database: SQLite.Database, sealer: Sealer, table: Table): void {
  const entries = database
    .prepare(`select revision, part, changes from ${journalTable} where instr(changes, ?) > 0`)
    .all(journalText(table)) as { revision: number; part: number; changes: string }[];
  const update = database.prepare(`update ${journalTable} set changes = ? where revision = ? and part = ?`);
  for (const { revision, part, changes } of entries) {
    const sealed = sealer.journal(table, changes);
    if (sealed !== changes) update.run(sealed, revision, part);
  }
  for (const text of auditTexts(table)) {
    const blocks = database
      .prepare(`select first, records from ${auditTable} where instr(records, ?) > 0`)
      .all(text) as { first: number; records: string }[];
    const updateBlock = database.prepare(`update ${auditTable} set records = ? where first = ?`);
    for (const { first, records } of blocks) updateBlock.run(sealer.audit(table, text, records), first);
  }
}
