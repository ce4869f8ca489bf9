import { SortedMap } from './sorted-map.ts';
import { keyOf, type Row, snapshotTables, type Table } from './tables.ts';

export type Values = readonly (string | null)[];

const nodeList = 'nodelist';

/** The list of nodes first: the other tables have its names. */
export const tablesToLoad: readonly Table[] = snapshotTables.toSorted(
  (a, b) => Number(b.name === nodeList) - Number(a.name === nodeList),
);

/** Rows that are read from a database at a time: each page is garbage before the next one comes. */
export const rowsPerPage = 2_000;

/**
 * Makes a table of the values of its rows, which come in key order, page by page. Starting with a large cluster is little else than this,
 * so it is done with care for speed.
 */
export class LoadingTable {
  readonly #table: Table;
  readonly #columns: readonly string[];
  readonly #texts: SharedTexts;
  readonly #isKey: readonly boolean[];
  readonly #share: readonly ((text: string) => string)[];
  readonly #wasSet: boolean[];
  readonly #keys: string[] = [];
  readonly #rows: Row[] = [];

  constructor(table: Table, columns: readonly string[], texts: SharedTexts) {
    this.#table = table;
    this.#columns = columns;
    this.#texts = texts;
    this.#isKey = columns.map((column) => table.keys.includes(column));
    this.#share = columns.map((column) => (column === table.nodeColumn ? texts.ofNodes() : texts.ofColumn()));
    this.#wasSet = columns.map(() => false);
  }

  /** Returns the keys to go on after; undefined: that was the last page. */
  add(page: readonly Values[]): string[] | undefined {
    for (const values of page) this.#addRow(values);
    const last = page.at(-1);
    if (!last || page.length < rowsPerPage) return undefined;
    return this.#table.keys.map((key) => last[this.#columns.indexOf(key)] ?? '');
  }

  /** Rows of a table mostly have the same columns; copying the row before and overwriting it is faster than adding them again. */
  #addRow(values: Values): void {
    const columns = this.#columns;
    const wasSet = this.#wasSet;
    let alike = true;
    for (let i = 0; i < columns.length; i++) {
      const isSet = values[i] !== null && !(this.#isKey[i] && values[i] === '');
      if (isSet === wasSet[i]) continue;
      wasSet[i] = isSet;
      alike = false;
    }
    const row: Record<string, string> = alike ? { ...this.#rows.at(-1) } : {};
    for (let i = 0; i < columns.length; i++) if (wasSet[i]) row[columns[i]!] = this.#share[i]!(values[i]!);
    this.#rows.push(row);
    this.#keys.push(keyOf(this.#table, row));
  }

  loaded(): SortedMap<Row> {
    const keys = this.#keys;
    if (this.#table.name === nodeList) this.#texts.expectNodes(keys);
    for (let i = 1; i < keys.length; i++) {
      // Databases order by UTF-8 bytes, text here compares by UTF-16 units: they differ for rare characters only.
      if (keys[i - 1]! >= keys[i]!) return SortedMap.fromEntries(keys.map((key, k) => [key, this.#rows[k]!] as const));
    }
    return SortedMap.fromSorted(keys, this.#rows);
  }
}

const longestShared = 64;
/** A column stops being shared when this many values more were new than had been there before. */
const sharingCredit = 1_000;

/** Most values recur in thousands of rows; keeping one copy of each short text saves most of the memory. */
export class SharedTexts {
  readonly #texts = new Map<string, string>();
  #nodes: readonly string[] = [];

  /** The function that a column's values go through. */
  ofColumn(): (text: string) => string {
    let credit = sharingCredit;
    return (text) => {
      if (text.length > longestShared || credit < 0) return text;
      const shared = this.#texts.get(text);
      if (shared !== undefined) {
        credit++;
        return shared;
      }
      this.#texts.set(text, text);
      credit--;
      return text;
    };
  }

  /** The same for names of nodes, which come in the same order in all tables: it is enough to go along the list of all of them. */
  ofNodes(): (text: string) => string {
    const nodes = this.#nodes;
    let next = 0;
    return (text) => {
      while (next < nodes.length && nodes[next]! < text) next++;
      return nodes[next] === text ? nodes[next]! : text;
    };
  }

  /** Names that the tables after this one will have, in their order. */
  expectNodes(nodes: readonly string[]): void {
    this.#nodes = nodes;
  }
}
