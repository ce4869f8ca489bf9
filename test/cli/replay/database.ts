import { tables } from '../../../src/database/tables.ts';
import type { TestServer } from '../../harness/server.ts';
import type { Row, RowChanges } from './cases.ts';

export type Contents = Readonly<Record<string, readonly Row[]>>;

const watched = [...tables.values()].filter(({ log, name }) => !log && name !== 'token');

/** All rows that a command may change, with the columns that have a value. */
export async function contentsOf(server: TestServer): Promise<Contents> {
  const all: Contents = await server.ok('GET', `/tables/${watched.map(({ name }) => name).join(',')}/rows`);
  const set = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== ''));
  return Object.fromEntries(Object.entries(all).map(([name, rows]) => [name, rows.map(set)]));
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
    for (const row of removed) {
      const { keys, columns } = tables.get(name)!;
      const values = columns
        .filter((column) => !keys.includes(column))
        .map((column) => [column, row[column] ?? 'NULL']);
      await server.ok('PUT', rowPath(name, row), Object.fromEntries(values));
    }
  }
  for (const [name, row] of secrets) await server.ok('PUT', rowPath(name, row), row);
}

const rank = (order: readonly string[], name: string): number => {
  const index = order.indexOf(name);
  return index < 0 ? order.length : index;
};
