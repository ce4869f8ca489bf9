import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Columns, Draft } from '../database/draft.ts';
import { secretColumns } from '../database/secret-columns.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { isEnabled, keyOf, type Row, type Table, tableNamed } from '../database/tables.ts';
import { indivisible } from './assign.ts';
import type { RangeOptions } from './cluster.ts';
import { rowsNamed } from './define.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader, redactRow } from './effective.ts';
import { ownersNamed, parseSelections, seesOwners } from './groups.ts';
import { checkGroupName, checkObjectName } from './names.ts';
import { nodeType } from './types.ts';

const maximumRows = 100_000;

/** Rows of an append-only log, straight from the database. */
export async function logRows(
  store: Store,
  table: Table,
  where: Row,
  columns: readonly string[] | undefined,
): Promise<Row[]> {
  await store.flush();
  const rows = await store.database.readLog({ table: table.name, where, after: 0, limit: maximumRows + 1 });
  if (rows.length > maximumRows) {
    throw new Fault(
      'invalid',
      `Table "${table.name}" has more than ${maximumRows} such rows; ask for fewer, for example by userid.`,
    );
  }
  if (!columns) return rows;
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => columns.includes(column))));
}

/** Which columns of a table are wanted: `column` counts for every table, `table.column` for one. */
function wantedColumns(table: Table, columns: readonly string[] | undefined): readonly string[] | undefined {
  return columns?.flatMap((wanted) => {
    if (table.columns.includes(wanted)) return wanted;
    const [name, column] = wanted.split('.', 2);
    return name === table.name && column !== undefined && table.columns.includes(column) ? column : [];
  });
}

function pick(row: Row, columns: readonly string[] | undefined): Row {
  const picked: Record<string, string> = {};
  for (const column of columns ?? Object.keys(row)) if (row[column]) picked[column] = row[column];
  return picked;
}

/** Nodes' rows as they are in effect, each under `name`. */
export function* nodeRows(
  snapshot: Snapshot,
  table: Table,
  nodes: readonly string[],
  columns: readonly string[] | undefined,
): Generator<Row> {
  const reader = effectiveReader(snapshot);
  const wanted = wantedColumns(table, columns);
  for (const node of nodes) {
    const { [table.nodeColumn!]: _node, ...rest } = redactRow(table, reader.row(table, node) ?? {});
    yield { name: node, ...pick(rest, wanted) };
  }
}

export function nodeTableNamed(name: string): Table {
  const table = tableNamed(name);
  if (table.nodeColumn === undefined)
    throw new Fault('invalid', `Table "${name}" has no rows of nodes; GET /tables/${name}/rows reads it.`);
  return table;
}

type Sees = RangeOptions['sees'];

/** The stored rows that match all of `keys`; disabled rows are not shown. */
export function* storedRows(
  snapshot: Snapshot,
  table: Table,
  keys: Row | undefined,
  columns: readonly string[] | undefined,
  sees?: Sees,
): Generator<Row> {
  const wanted = wantedColumns(table, columns);
  for (const row of keys ? rowsMeant(snapshot, table, keys, sees) : snapshot.rows(table.name).values()) {
    if (!isEnabled(row)) continue;
    const shown = pick(redactRow(table, row), wanted);
    if (Object.keys(shown).length > 0) yield shown;
  }
}

/** The stored rows that match all of `keys`. Who asks by values and not by nodes gets only rows of nodes they may know of. */
export function rowsMeant(snapshot: Snapshot, table: Table, keys: Row, sees?: Sees): Row[] {
  const rows = matchingRows(snapshot, table, keys);
  const { nodeColumn } = table;
  if (!sees || nodeColumn === undefined || keys[nodeColumn]) return rows;
  return rows.filter((row) => seesOwners(snapshot, row[nodeColumn] ?? '', sees));
}

export function matchingRows(snapshot: Snapshot, table: Table, keys: Row): Row[] {
  const wanted = Object.entries(keys);
  if (table.keys.every((key) => keys[key])) {
    const row = snapshot.get(table.name, keyOf(table, keys));
    return row && wanted.every(([column, value]) => (row[column] ?? '') === value) ? [row] : [];
  }
  return snapshot
    .rows(table.name)
    .values()
    .filter((row) => wanted.every(([column, value]) => (row[column] ?? '') === value));
}

/** Whether rows of the table concern nodes, also where they do not belong to them. */
export const concernsNodes = ({ nodeColumn, log, columns }: Table): boolean =>
  nodeColumn !== undefined || log || columns.includes('node');

/** The nodes that the policy is asked about when these rows are read: whose they are, and whom the keys name. */
export function ownersOf(snapshot: Snapshot, nodeColumn: string, keys: Row, rows: readonly Row[]): readonly string[] {
  const names = new Set([...rows, keys].flatMap((row) => row[nodeColumn] || []));
  return [...new Set([...names].flatMap((name) => ownersNamed(snapshot, name)))].sort();
}

/** `column=value` pairs of a path. */
export function parseKeys(table: Table, text: string): Row {
  const keys: Record<string, string> = {};
  for (const part of text.split(',')) {
    const mark = part.indexOf('=');
    // It may be a secret whose name was left out.
    if (mark < 0)
      throw new Fault(
        'invalid',
        `Give the keys of a row of table "${table.name}" as column=value, separated by commas.`,
      );
    const column = part.slice(0, mark).trim();
    if (!table.columns.includes(column)) {
      throw new Fault('invalid', `Table "${table.name}" has no column "${column}".`, {
        missing: [`${table.name}.${column}`],
      });
    }
    keys[column] = part.slice(mark + 1).trim();
  }
  for (const column of secretColumns(table, keys))
    if (column in keys) throw new Fault('invalid', `${table.name}.${column} is secret and cannot name a row.`);
  return keys;
}

/** The same for what is written: an empty value, as an unset variable gives it, would mean all rows that have none. */
export function parseWrittenKeys(table: Table, text: string): Row {
  const keys = parseKeys(table, text);
  if (Object.values(keys).every((value) => value === ''))
    throw new Fault(
      'invalid',
      `"${text}" means all rows of table "${table.name}" without these values; give at least one value that the rows have.`,
    );
  return keys;
}

const unwritable = new Set(['token', 'siteaccount', 'oidcgrant', 'auditlog', 'eventlog']);

export function writableTable(name: string): Table {
  const table = tableNamed(name);
  if (unwritable.has(name)) throw new Fault('invalid', `Table "${name}" cannot be written through this interface.`);
  return table;
}

const noValue = 'NULL';

interface RowWriting {
  readonly sees?: Sees;
  /** Columns whose values are items that come behind those that each row has. */
  readonly add?: readonly string[] | undefined;
}

/** Changes all rows that match, or makes the one row the keys describe. */
export function* writeRows(
  draft: Draft,
  table: Table,
  keys: Row,
  given: Row,
  { sees, add = [] }: RowWriting = {},
): Interruptible<void> {
  const columns: Record<string, string | undefined> = {};
  for (const [column, value] of Object.entries(given)) {
    columns[column] = value === noValue || (column === 'disable' && value === '') ? undefined : value;
  }
  checkMeaning(table, columns);
  const rows = rowsMeant(draft.base, table, keys, sees);
  checkDivisible(table, rows.length > 0 ? rows : [keys], add);
  const renames = table.keys.some((key) => key in columns);
  yield* eachInSlices(rows, (row) => {
    const lists = add.map((column) => [column, withItemsBehind(row[column] ?? '', given[column] ?? '')]);
    const own = { ...columns, ...Object.fromEntries(lists) } as Columns;
    if (renames) checkIdentity(table, { ...row, ...own });
    draft.merge(table.name, keyOf(table, row), own);
  });
  if (rows.length > 0 || Object.values(columns).every((value) => !value)) return;
  insertRow(draft, table, { ...keys, ...columns });
}

function checkDivisible(table: Table, rows: readonly Row[], add: readonly string[]): void {
  for (const row of add.length > 0 ? rows : [])
    for (const column of add) if (secretColumns(table, row).has(column)) throw indivisible(`${table.name}.${column}`);
}

function withItemsBehind(list: string, added: string): string {
  const had = listItems(list);
  const more = listItems(added).filter((item) => !had.includes(item));
  return more.length === 0 ? list : [...(had.length > 0 ? [list.replace(/[,\s]+$/, '')] : []), ...more].join(',');
}

function insertRow(draft: Draft, table: Table, columns: Columns): void {
  const set = Object.fromEntries(Object.entries(columns).filter(([, value]) => value)) as Row;
  checkIdentity(table, set);
  checkMeaning(table, set);
  const key = keyOf(table, set);
  if (draft.get(table.name, key)) {
    const taken = table.keys.map((column) => `${column}=${set[column] ?? ''}`).join(',');
    throw new Fault('invalid', `Table "${table.name}" already has a row with ${taken}; name it by that to change it.`);
  }
  draft.merge(table.name, key, set);
}

/** A row needs what names it, and the name must be one such an object may have. */
export function checkIdentity(table: Table, row: Columns): void {
  const needed = table.nodeColumn === undefined ? table.keys.filter((key) => key !== 'username') : [table.nodeColumn];
  const absent = needed.filter((key) => !row[key]);
  if (absent.length > 0) throw new Fault('invalid', `A row of table "${table.name}" needs ${absent.join(' and ')}.`);
  if (table.name === 'nodelist') checkObjectName(nodeType, row['node']!);
  else if (table.name === 'nodegroup') checkGroupName(row['groupname']!);
  // Rows of nodes are keyed by a node or a group.
  else if (table.nodeColumn === 'node') checkGroupName(row['node']!);
}

/** What the definition commands check about groups holds for the tables behind them too. */
export function checkMeaning(table: Table, columns: Columns): void {
  if (table.name === 'nodelist') for (const group of listItems(columns['groups'] ?? '')) checkGroupName(group);
  if (table.name === 'nodegroup' && columns['wherevals'])
    parseSelections(columns['wherevals'], columns['groupname'] ?? '');
}

/** Stored in a node's own row, it hides what the groups say. */
export const hideGroupValue = '|^.*$||';

/** Sets columns of a node's own row. */
export function writeNodeRow(draft: Draft, table: Table, node: string, given: Row): void {
  const columns: Record<string, string | undefined> = {};
  for (const [column, value] of Object.entries(given)) {
    if (column !== table.nodeColumn) columns[column] = nodeColumnValue(table, column, value);
    else if (value !== node)
      throw new Fault(
        'invalid',
        `${table.name}.${column} is the name of the node, "${node}", and cannot be set. To rename it: PUT /definitions/node/${node}/rename {"name":"NEWNAME"}.`,
      );
  }
  checkMeaning(table, columns);
  const own = rowsNamed(draft, table, node);
  for (const row of own) draft.merge(table.name, keyOf(table, row), columns);
  if (own.length > 0 || Object.values(columns).every((value) => !value)) return;
  const identity = { [table.nodeColumn!]: node };
  draft.merge(table.name, keyOf(table, identity), { ...identity, ...columns });
}

function nodeColumnValue(table: Table, column: string, value: string): string | undefined {
  if (value === noValue) return undefined;
  if (value !== '') return value;
  if (column === 'disable') return undefined;
  // Nothing is inherited in nodelist; a secret is not read as a pattern, and a key would name another row.
  if (table.name === 'nodelist' || table.secret.has(column) || table.keys.includes(column)) return '';
  return hideGroupValue;
}
