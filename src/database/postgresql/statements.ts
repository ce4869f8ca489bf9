import { ordinalColumn, removedTable } from '../own-tables.ts';
import { Statements } from '../statements.ts';
import { tableNamed } from '../tables.ts';

const quoted = (column: string): string => `"${column}"`;

/** Columns of `given`, a table of what the parameters hold: an array for each column. */
const given = (columns: readonly string[], numbers: readonly string[] = []): string => {
  const all = [...columns.map(() => 'text'), ...numbers.map(() => 'bigint')];
  const arrays = all.map((type, i) => `$${i + 1}::${type}[]`);
  return `unnest(${arrays.join()}) as given(${[...columns, ...numbers].map(quoted).join()})`;
};

/** Statements that work on many rows at once; their parameters are arrays, one for each column. */
export class PostgresStatements extends Statements {
  /** Parameters: the columns, the storage keys of rows that may go where they were before, the ordinals. */
  insertRows(table: string, columns: readonly string[]): string {
    return this.text(`ir ${table} ${columns.join()}`, () => {
      const values = columns.map((column) => `given.${quoted(column)}`).join();
      const ordinal = 'case when former.name is null then given.ordinal else former.ordinal end';
      return {
        sql: `insert into "${table}" (${[...columns, ordinalColumn].map(quoted).join()})
          select ${values}${values && ','} ${ordinal} from ${given([...columns, 'former'], ['ordinal'])}
          left join ${removedTable} former on former.name = '${table}' and former.key = given.former`,
      };
    });
  }

  /** Parameters: the columns, then the keys. */
  updateRows(table: string, columns: readonly string[]): string {
    return this.text(`ur ${table} ${columns.join()}`, () => {
      const { keys } = tableNamed(table);
      const asKeys = keys.map((_, i) => `key${i}`);
      const set = columns.map((column) => `${quoted(column)} = given.${quoted(column)}`).join();
      return { sql: `update "${table}" set ${set} from ${given([...columns, ...asKeys])} where ${sameKeys(table)}` };
    });
  }

  /** Keeps where rows stand. Parameters: the keys, the storage keys, the times. */
  noteRemovedRows(table: string): string {
    return this.text(`nr ${table}`, () => {
      const asKeys = tableNamed(table).keys.map((_, i) => `key${i}`);
      return {
        sql: `insert into ${removedTable} (name, key, time, ordinal)
          select '${table}', given.key, given.time, "${table}".${ordinalColumn}
          from ${given([...asKeys, 'key'], ['time'])} join "${table}" on ${sameKeys(table)}
          on conflict (name, key) do update set time = excluded.time, ordinal = excluded.ordinal`,
      };
    });
  }

  /** Parameters: the keys. */
  removeRows(table: string): string {
    return this.text(`rr ${table}`, () => {
      const asKeys = tableNamed(table).keys.map((_, i) => `key${i}`);
      return { sql: `delete from "${table}" using ${given(asKeys)} where ${sameKeys(table)}` };
    });
  }

  /** The storage keys' columns of all rows, in the order in which these were stored. */
  selectStored(table: string): string {
    const keys = tableNamed(table).keys.map(quoted).join();
    return `select ${keys} from "${table}" order by coalesce(${ordinalColumn}, 0), ${keys}`;
  }
}

const sameKeys = (table: string): string =>
  tableNamed(table)
    .keys.map((key, i) => `"${table}".${quoted(key)} = given.key${i}`)
    .join(' and ');
