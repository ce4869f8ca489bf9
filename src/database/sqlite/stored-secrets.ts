import { secretColumns } from '../secret-columns.ts';
import { type Row, snapshotTables } from '../tables.ts';
import { openSqlite } from './connection.ts';
import { explained } from './failures.ts';

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
