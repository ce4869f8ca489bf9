import { Fault } from '../core/errors.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { keyOf, type Row, type Table, tables } from '../database/tables.ts';
import { indivisible } from './assign.ts';
import { rowsNamed } from './define.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader, redactRow } from './effective.ts';
import { writableTable, writeNodeRow } from './table-access.ts';

/** A column of nodes' rows. */
export interface NodeColumn {
  readonly table: Table;
  readonly column: string;
  /** `table.column` */
  readonly name: string;
}

/** Changes of nodes' own rows, by `table.column`. */
export interface ColumnChanges {
  readonly set?: Row | undefined;
  /** Items put before those that the column has. */
  readonly add?: Row | undefined;
  readonly remove?: Row | undefined;
}

/** `table.column` each, or a table's name for all of its columns. */
export function nodeColumns(names: readonly string[]): NodeColumn[] {
  const unknown: string[] = [];
  const found = new Map<string, NodeColumn>();
  for (const name of names) {
    const columns = columnsNamed(name);
    if (columns.length === 0) unknown.push(name);
    for (const each of columns) found.set(each.name, each);
  }
  if (unknown.length > 0) throw unknownColumns(unknown);
  return [...found.values()];
}

function columnsNamed(text: string): NodeColumn[] {
  const dot = text.indexOf('.');
  const table = tables.get(dot < 0 ? text : text.slice(0, dot));
  if (table?.nodeColumn === undefined) return [];
  const wanted = dot < 0 ? table.columns : table.columns.filter((column) => column === text.slice(dot + 1));
  return wanted.map((column) => ({ table, column, name: `${table.name}.${column}` }));
}

function unknownColumns(names: readonly string[]): Fault {
  return new Fault(
    'invalid',
    names.map((name) => `"${name}" is not a column of nodes' rows. Give TABLE.COLUMN, for example nodetype.arch.`),
    { missing: names, reference: names.map((name) => `${name} not a valid table.column description`) },
  );
}

/** The columns as they are in effect for a node; those without a value are empty. */
export function effectiveColumns(snapshot: Snapshot, columns: readonly NodeColumn[]) {
  const reader = effectiveReader(snapshot);
  return (node: string): Record<string, string> => {
    const rows = new Map<Table, Row>();
    const values: Record<string, string> = {};
    for (const { table, column, name } of columns) {
      let row = rows.get(table);
      if (!row) rows.set(table, (row = redactRow(table, reader.row(table, node) ?? {})));
      values[name] = column === table.nodeColumn ? node : (row[column] ?? '');
    }
    return values;
  };
}

/** For each column whose value a group gives, that group. */
export function columnOrigins(snapshot: Snapshot, columns: readonly NodeColumn[]) {
  const reader = effectiveReader(snapshot);
  return (node: string): Record<string, string> => {
    const origins: Record<string, string> = {};
    for (const { table, column, name } of columns) {
      const from = reader.explain(table, column, node)?.from;
      if (from !== undefined && from !== node) origins[name] = from;
    }
    return origins;
  };
}

/** What is to be written, by table; unknown columns are refused, and lists of secrets. */
export function columnsToWrite({ set = {}, add = {}, remove = {} }: ColumnChanges): Map<Table, NodeColumn[]> {
  const byTable = new Map<Table, NodeColumn[]>();
  for (const each of nodeColumns([...Object.keys(set), ...Object.keys(add), ...Object.keys(remove)])) {
    const { table, column, name } = each;
    if (table.secret.has(column) && (name in add || name in remove)) throw indivisible(name);
    const listed = byTable.get(writableTable(each.table.name));
    if (listed) listed.push(each);
    else byTable.set(each.table, [each]);
  }
  return byTable;
}

/** Changes columns of a node's own row. Lists begin with what is in effect. */
export function writeColumns(
  draft: Draft,
  byTable: ReadonlyMap<Table, readonly NodeColumn[]>,
  { set = {}, add = {}, remove = {} }: ColumnChanges,
  node: string,
): void {
  const inEffect = effectiveReader(draft.base);
  for (const [table, columns] of byTable) {
    const values: Record<string, string> = {};
    for (const { column, name } of columns) {
      const before = inEffect.row(table, node)?.[column] ?? '';
      let value = set[name] ?? before;
      if (add[name] !== undefined) value = withItems(value, add[name]);
      if (remove[name] !== undefined) value = withoutItems(value, remove[name]);
      if (set[name] !== undefined || value !== before) values[column] = value;
    }
    if (Object.keys(values).length > 0) writeNodeRow(draft, table, node, values);
  }
}

/** New items come to the front, each before the one that was given before it. */
function withItems(list: string, added: string): string {
  let items = [...listItems(list)];
  for (const item of listItems(added)) if (!items.includes(item)) items = [item, ...items];
  return items.join(',');
}

function withoutItems(list: string, removed: string): string {
  const gone = listItems(removed);
  const items = listItems(list);
  const kept = items.filter((item) => !gone.includes(item));
  return kept.length === items.length ? list : kept.join(',');
}

/** Removes a node's own rows of the table. */
export function removeOwnRows(draft: Draft, table: Table, node: string): void {
  for (const row of rowsNamed(draft, table, node)) draft.remove(table.name, keyOf(table, row));
}

/** The arguments as the reference system writes them. */
export const columnWords = (
  { set = {}, add = {}, remove = {} }: ColumnChanges,
  shown: (table: string, column: string, value: string) => string,
): string[] =>
  (
    [
      [set, '='],
      [add, ',='],
      [remove, '^='],
    ] as const
  ).flatMap(([values, operator]) =>
    Object.entries(values).map(([name, value]) => {
      const [table = '', column = ''] = name.split('.', 2);
      return shown(table, column, value).replace('=', operator);
    }),
  );
