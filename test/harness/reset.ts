import { tables } from '../../src/database/tables.ts';
import type { TestServer } from './server.ts';

type Row = Readonly<Record<string, string>>;
export type Rows = Readonly<Record<string, readonly Row[]>>;

const resettable = [...tables.values()].filter((table) => !table.log && table.name !== 'token');

const identity = (keys: readonly string[], row: Row): string => keys.map((key) => row[key] ?? '').join(' ');

const rowPath = (table: string, keys: readonly string[], row: Row): string => {
  const named = keys.filter((key) => row[key]);
  return `/tables/${table}/rows/${named.map((key) => `${key}=${encodeURIComponent(row[key]!)}`).join(',')}`;
};

/** Brings the server to exactly these rows, through its tables. */
export async function resetTo(server: TestServer, wanted: Rows): Promise<void> {
  const present: Rows = await server.ok('GET', `/tables/${resettable.map(({ name }) => name).join(',')}/rows`);
  for (const { name, keys, secret } of resettable) {
    const kept = new Map((wanted[name] ?? []).map((row) => [identity(keys, row), row]));
    for (const row of present[name]!) {
      const target = kept.get(identity(keys, row));
      if (!target) continue;
      const columns = [...new Set([...Object.keys(row), ...Object.keys(target)])];
      const differs = columns.some((column) => !secret.has(column) && row[column] !== target[column]);
      if (!differs) kept.delete(identity(keys, row));
    }
    for (const row of kept.values()) {
      const columns = Object.fromEntries(tables.get(name)!.columns.map((column) => [column, row[column] ?? 'NULL']));
      for (const key of keys) delete columns[key];
      await server.ok('PUT', rowPath(name, keys, row), columns);
    }
    const wantedKeys = new Set((wanted[name] ?? []).map((row) => identity(keys, row)));
    for (const row of present[name]!)
      if (!wantedKeys.has(identity(keys, row))) await server.ok('DELETE', rowPath(name, keys, row));
  }
}
