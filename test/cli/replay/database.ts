import { tables } from '../../../src/database/tables.ts';
import type { TestServer } from '../../harness/server.ts';
import type { Row, RowChanges } from './cases.ts';

export type Contents = Readonly<Record<string, readonly Row[]>>;

const watched = [...tables.values()].filter(({ log, name }) => !log && name !== 'token');

/** All rows that a command may change, as they are stored. */
export async function contentsOf(server: TestServer): Promise<Contents> {
  const names = watched.map(({ name }) => name).join(',');
  const all: Record<string, { rows: Row[] }> = await server.ok('GET', `/tables/${names}/dump`);
  return Object.fromEntries(Object.entries(all).map(([name, { rows }]) => [name, rows]));
}

const textOf = (row: Row): string => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));

export function differences(before: Contents, after: Contents): Record<string, RowChanges> {
  const changed: Record<string, RowChanges> = {};
  for (const { name } of watched) {
    const [old = [], now = []] = [before[name], after[name]];
    const [oldTexts, nowTexts] = [new Set(old.map(textOf)), new Set(now.map(textOf))];
    const removed = old.filter((row) => !nowTexts.has(textOf(row)));
    const added = now.filter((row) => !oldTexts.has(textOf(row)));
    if (removed.length > 0 || added.length > 0) changed[name] = { removed, added };
  }
  return changed;
}

const rowPath = (table: string, row: Row): string => {
  const named = tables.get(table)!.keys.filter((key) => row[key]);
  return `/tables/${table}/rows/${named.map((key) => `${key}=${encodeURIComponent(row[key]!)}`).join(',')}`;
};

const identity = (table: string, row: Row): string => rowPath(table, row);

/** Secrets of the state, which no reading tells. */
const secrets: readonly [table: string, row: Row][] = [
  ['ipmi', { node: 'compute', password: 'secret' }],
  ['passwd', { key: 'system', username: 'root', password: 'cluster' }],
];

/** Brings the database back to the contents it had. */
export async function restore(server: TestServer, contents: Contents): Promise<void> {
  const changed = differences(contents, await contentsOf(server));
  // Rules and accounts first: without them nothing else could be done.
  const order = ['passwd', 'policy', 'nodelist'];
  const names = Object.keys(changed).sort((a, b) => rank(order, a) - rank(order, b));
  for (const name of names) {
    const { removed = [], added = [] } = changed[name]!;
    const wanted = new Set(removed.map((row) => identity(name, row)));
    for (const row of added) if (!wanted.has(identity(name, row))) await server.ok('DELETE', rowPath(name, row));
    const again = isPlain(name) ? storedAfter(contents[name]!, added, removed, (row) => identity(name, row)) : [];
    for (const row of again) await server.ok('DELETE', rowPath(name, row));
    for (const row of new Set([...removed, ...again].sort(byPosition(contents[name]!)))) {
      const { keys, columns } = tables.get(name)!;
      const values = columns
        .filter((column) => !keys.includes(column))
        .map((column) => [column, row[column] ?? 'NULL']);
      await server.ok('PUT', rowPath(name, row), Object.fromEntries(values));
    }
  }
  for (const [name, row] of secrets) await server.ok('PUT', rowPath(name, row), row);
}

/** Not what nodes, rights or the site itself live by. */
const isPlain = (name: string): boolean => !['passwd', 'policy', 'nodelist', 'site'].includes(name);

/** The rows that must be put again to come after one that is gone, as they were. */
function storedAfter(stored: readonly Row[], added: readonly Row[], removed: readonly Row[], id: (row: Row) => string) {
  const changed = new Set(added.map(id));
  const gone = stored.findIndex((row) => removed.includes(row) && !changed.has(id(row)));
  if (gone < 0) return [];
  return stored.slice(gone + 1).filter((row) => !removed.includes(row) || changed.has(id(row)));
}

const byPosition =
  (stored: readonly Row[]) =>
  (a: Row, b: Row): number =>
    stored.indexOf(a) - stored.indexOf(b);

const rank = (order: readonly string[], name: string): number => {
  const index = order.indexOf(name);
  return index < 0 ? order.length : index;
};
