import { ordinalColumn, removedTable } from '../own-tables.ts';
import { Statements } from '../statements.ts';
import { tableNamed } from '../tables.ts';

/** What only SQLite says so. */
export class SqliteStatements extends Statements {
  /** Keeps where a row stands. Parameters: the table, the storage key, the time, the keys. */
  noteRemoved(table: string): string {
    return this.text(`r ${table}`, () => {
      const keys = tableNamed(table).keys.map((key) => `"${key}" = ?`);
      const row = `select ?, ?, ?, ${ordinalColumn} from "${table}" where ${keys.join(' and ')}`;
      return { sql: `insert or replace into ${removedTable} (name, key, time, ordinal) ${row}` };
    });
  }

  /** The next rows in key order: their ordinals and keys. Parameters: the keys to start after, how many. */
  selectOrdinals(table: string): string {
    const keys = tableNamed(table)
      .keys.map((key) => `"${key}"`)
      .join();
    const after = tableNamed(table).keys.map(() => '?');
    return `select coalesce(${ordinalColumn}, 0), ${keys} from "${table}" where (${keys}) > (${after.join()}) order by ${keys} limit ?`;
  }
}
