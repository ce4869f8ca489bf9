import SQLite from 'better-sqlite3';
import { snapshotTables } from '../../../src/database/tables.ts';
import type { Row, Rows } from './world.ts';

/** What a server has stored at a moment; secrets are sealed, so that a changed one differs. */
export type World = Rows;

const keysOf = new Map(snapshotTables.map(({ name, keys, nodeColumn }) => [name, { keys, nodeColumn }]));
export const keyText = (table: string, row: Row): string =>
  keysOf
    .get(table)!
    .keys.map((key) => row[key] ?? '')
    .join(' ');
export const ownerColumn = (table: string): string | undefined => keysOf.get(table)?.nodeColumn;

/** Reads a running server's database from outside. */
export function openWorld(file: string): { read(): World; close(): void } {
  const database = new SQLite(file, { readonly: true });
  // Where a row stands among the others is nobody's value.
  const statements = snapshotTables.map(({ name, columns }) => {
    const list = columns.map((column) => `"${column}"`).join();
    return [name, database.prepare(`select ${list} from "${name}"`)] as const;
  });
  return {
    read() {
      const tables = statements.map(([name, statement]) => {
        const rows = (statement.all() as Record<string, string | null>[]).map(withoutNulls);
        return [name, rows] as const;
      });
      return Object.fromEntries(tables);
    },
    close: () => database.close(),
  };
}

const withoutNulls = (row: Record<string, string | null>): Row =>
  Object.fromEntries(Object.entries(row).filter((entry): entry is [string, string] => entry[1] !== null));

const isEnabled = ({ disable }: Row): boolean => disable === undefined || disable === '0' || disable === 'no';
const listed = (text = ''): string[] => text.split(',').flatMap((item) => item.trim() || []);

export const nodesIn = (world: World): string[] =>
  world['nodelist']!.filter(isEnabled)
    .map((row) => row['node']!)
    .sort();

export const groupsOf = (world: World, node: string): string[] =>
  listed(world['nodelist']!.find((row) => row['node'] === node && isEnabled(row))?.['groups']);

/** The node's own row, and what it lacks from its groups, the first of them first. */
export function effective(world: World, table: string, node: string): Row {
  const column = ownerColumn(table)!;
  const rowsOf = (owner: string): Row[] =>
    (world[table] ?? []).filter((row) => row[column] === owner && isEnabled(row));
  const sources = [node, ...(table === 'nodelist' ? [] : groupsOf(world, node))].flatMap(rowsOf);
  const found: Record<string, string> = {};
  for (const row of sources)
    for (const [name, value] of Object.entries(row)) if (value !== '' && name !== column) found[name] ??= value;
  return found;
}

/** Members of a group of either kind, hidden ones too. Dynamic ones here select by one column that equals a value. */
export function membersOf(world: World, group: string): string[] {
  const row = world['nodegroup']!.find((each) => each['groupname'] === group && isEnabled(each));
  if (row?.['grouptype'] !== 'dynamic') return nodesIn(world).filter((node) => groupsOf(world, node).includes(group));
  const [column = '', value] = (row['wherevals'] ?? '').split('==');
  return nodesIn(world).filter((node) => effective(world, 'nodepos', node)[column] === value);
}

/** Rows that differ, as they were and as they are. */
export interface Difference {
  readonly table: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

export function differences(before: World, after: World): Difference[] {
  return Object.keys(after).flatMap((table) => {
    const old = new Map((before[table] ?? []).map((row) => [keyText(table, row), row]));
    const now = new Map(after[table]!.map((row) => [keyText(table, row), row]));
    return [...new Set([...old.keys(), ...now.keys()])].flatMap((key) => {
      const [was, is] = [old.get(key), now.get(key)];
      return JSON.stringify(sorted(was)) === JSON.stringify(sorted(is)) ? [] : { table, before: was, after: is };
    });
  });
}

const sorted = (row: Row | undefined): string[] | undefined =>
  row &&
  Object.entries(row)
    .map((entry) => entry.join('='))
    .sort();
