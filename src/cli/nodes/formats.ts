import { byName } from '../by-name.ts';
import { yamlText } from '../yaml.ts';
import type { Format } from './own-options.ts';

type Result = Readonly<Record<string, unknown>>;

/** Results of nodes as data. Tables and CSV have a column for each attribute that any node has. */
export function formatted(format: Exclude<Format, 'ndjson'>, results: readonly Result[]): string {
  const sorted = results.toSorted((a, b) => byName(String(a['node']), String(b['node'])));
  switch (format) {
    case 'json':
      return `${JSON.stringify(sorted, null, 2)}\n`;
    case 'yaml':
      return sorted.map((each) => yamlItem(each)).join('');
    case 'csv':
      return rowsOf(sorted)
        .map((row) => `${row.map(csvCell).join(',')}\n`)
        .join('');
    case 'table':
      return table(rowsOf(sorted));
  }
}

function cells({ node, value, error }: Result): Record<string, string> {
  if (error !== undefined) return { node: String(node), error: text(error) };
  if (Array.isArray(value)) return { node: String(node), value: value.map(text).join('\n') };
  if (value === null || typeof value !== 'object') return { node: String(node), value: text(value) };
  const own = Object.entries(value).map(([name, each]) => [
    name,
    Array.isArray(each) ? each.map(text).join('\n') : text(each),
  ]);
  return { node: String(node), ...(Object.fromEntries(own) as Record<string, string>) };
}

const text = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

function rowsOf(results: readonly Result[]): string[][] {
  const all = results.map(cells);
  const columns = new Set(['node', ...all.flatMap((each) => Object.keys(each))]);
  return [[...columns], ...all.map((each) => [...columns].map((column) => each[column] ?? ''))];
}

const csvCell = (value: string): string => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

function table(rows: readonly (readonly string[])[]): string {
  const flat = rows.map((row) => row.map((cell) => cell.replaceAll('\n', '; ')));
  const widths = flat[0]!.map((_, column) => Math.max(...flat.map((row) => row[column]!.length)));
  return flat
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** An item of a list. */
function yamlItem(item: Result): string {
  return `- ${yamlLines(item, '  ').join('\n').slice(2)}\n`;
}

function yamlLines(value: Result, indent: string): string[] {
  return Object.entries(value).flatMap(([key, each]) => {
    const name = yamlText(key);
    if (each === undefined) return [];
    if (Array.isArray(each)) {
      if (each.length === 0) return [`${indent}${name}: []`];
      return [`${indent}${name}:`, ...each.map((one) => `${indent}  - ${yamlScalar(one)}`)];
    }
    if (each !== null && typeof each === 'object') {
      if (Object.keys(each).length === 0) return [`${indent}${name}: {}`];
      return [`${indent}${name}:`, ...yamlLines(each as Result, `${indent}  `)];
    }
    return [`${indent}${name}: ${yamlScalar(each)}`];
  });
}

const yamlScalar = (value: unknown): string => (typeof value === 'string' ? yamlText(value) : JSON.stringify(value));
