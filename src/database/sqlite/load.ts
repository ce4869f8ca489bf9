import type SQLite from 'better-sqlite3';
import { SortedMap } from '../sorted-map.ts';
import { keyOf, type Row, type Table } from '../tables.ts';
import type { Statements } from './statements.ts';

type Values = readonly (string | null)[];

/** Reads a whole table. Starting with a large cluster is little else than this, so it is done with care for speed. */
export function loadTable(
  reader: SQLite.Database,
  statements: Statements,
  table: Table,
  texts: SharedTexts,
): SortedMap<Row> {
  // Most columns of most tables are never used, and every value that is handed over costs.
  const counts = reader.prepare(statements.countColumns(table.name)).raw().get() as number[];
  const columns = table.columns.filter((_, i) => counts[i]! > 0);
  if (columns.length === 0) return SortedMap.empty();
  const rows = readRows(reader.prepare(statements.selectAll(table.name, columns)).raw().all() as Values[], {
    columns,
    isKey: columns.map((column) => table.keys.includes(column)),
    share: columns.map((column) => texts.ofColumn(table.keys.includes(column))),
  });
  const keys = rows.map((row) => keyOf(table, row));
  for (let i = 1; i < keys.length; i++) {
    // SQLite orders by UTF-8 bytes, text here compares by UTF-16 units: they differ for rare characters only.
    if (keys[i - 1]! >= keys[i]!) return SortedMap.fromEntries(keys.map((key, k) => [key, rows[k]!] as const));
  }
  return SortedMap.fromSorted(keys, rows);
}

interface Reading {
  readonly columns: readonly string[];
  readonly isKey: readonly boolean[];
  readonly share: readonly ((text: string) => string)[];
}

/** Rows of a table mostly have the same columns; copying the row before and overwriting it is faster than adding them again. */
function readRows(all: readonly Values[], { columns, isKey, share }: Reading): Row[] {
  const rows: Row[] = [];
  const wasSet: boolean[] = columns.map(() => false);
  let previous: Row = {};
  for (const values of all) {
    let alike = true;
    for (let i = 0; i < columns.length; i++) {
      const isSet = values[i] !== null && !(isKey[i] && values[i] === '');
      if (isSet === wasSet[i]) continue;
      wasSet[i] = isSet;
      alike = false;
    }
    const row: Record<string, string> = alike ? { ...previous } : {};
    for (let i = 0; i < columns.length; i++) if (wasSet[i]) row[columns[i]!] = share[i]!(values[i]!);
    rows.push((previous = row));
  }
  return rows;
}

const longestShared = 64;
/** A column stops being shared when this many values more were new than had been there before. */
const sharingCredit = 1_000;

/** Most values recur in thousands of rows; keeping one copy of each short text saves most of the memory. */
export class SharedTexts {
  readonly #texts = new Map<string, string>();

  /** The function that a column's values go through. Keys recur in other tables, so they are shared in any case. */
  ofColumn(isKey: boolean): (text: string) => string {
    let credit = sharingCredit;
    return (text) => {
      if (text.length > longestShared || credit < 0) return text;
      const shared = this.#texts.get(text);
      if (shared !== undefined) {
        credit++;
        return shared;
      }
      this.#texts.set(text, text);
      if (!isKey) credit--;
      return text;
    };
  }
}
