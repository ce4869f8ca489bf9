import { csvPlainLine } from '../core/csv.ts';
import type { Invocation } from './command.ts';
import type { Format } from './common-options.ts';
import { UsageError } from './errors.ts';

/** Results as data. Tables and CSV have a column for each member that any of them has. */
export async function formatted(format: Format, results: readonly object[]): Promise<string> {
  switch (format) {
    case 'json':
      return `${JSON.stringify(results, null, 2)}\n`;
    case 'ndjson':
      return results.map((each) => `${JSON.stringify(each)}\n`).join('');
    case 'yaml':
      return yamlText(results);
    case 'csv':
      return rowsOf(results).map(csvPlainLine).join('');
    case 'table':
      return table(rowsOf(results));
  }
}

/** Prints results as data and answers the exit status. */
export async function writeData({ stdout }: Invocation, format: Format, results: readonly object[]): Promise<number> {
  await stdout.write(await formatted(format, results));
  return 0;
}

/** Maps stand for their members. */
function cells(result: object): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(result) as [string, unknown][]) {
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      for (const [member, each] of Object.entries(value)) found[member] = cellText(each);
    else found[name] = cellText(value);
  }
  return found;
}

const text = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const cellText = (value: unknown): string => (Array.isArray(value) ? value.map(text).join('\n') : text(value));

function rowsOf(results: readonly object[]): string[][] {
  const all = results.map(cells);
  const columns = [...new Set(all.flatMap((each) => Object.keys(each)))];
  return [columns, ...all.map((each) => columns.map((column) => each[column] ?? ''))];
}

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

/** Texts are quoted wherever an older reader of YAML would take them for something else. */
export async function yamlText(data: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(data, {
    version: '1.1',
    lineWidth: 0,
    singleQuote: false,
    blockQuote: false,
    aliasDuplicateObjects: false,
  });
}

/**
 * Reads YAML in which every scalar is a text, so that an address or a number stays what was written; `~` is an empty one. The line feed
 * that ends a block of text ends the block, not the text: no attribute has one.
 */
export async function readYaml(source: string, file: string): Promise<unknown> {
  const { LineCounter, parseDocument, visit } = await import('yaml');
  const lineCounter = new LineCounter();
  // The parser compares each key with all before it, which takes seconds for thousands of nodes.
  const document = parseDocument(source, { schema: 'failsafe', uniqueKeys: false, lineCounter });
  const [error] = [...document.errors, ...document.warnings];
  if (error) throw new UsageError(`${file}: ${error.message.split('\n', 1)[0]!.replace(/:$/, '.')}`);
  visit(document, {
    Scalar(_, node) {
      if (node.type === 'PLAIN' && node.source === '~') node.value = '';
      if (node.type?.startsWith('BLOCK')) node.value = String(node.value).replace(/\n$/, '');
    },
    Map(_, { items }) {
      const repeated = repeatedKey(items.map(({ key }) => key as YamlKey));
      if (!repeated) return;
      const { line, col } = lineCounter.linePos(repeated.range?.[0] ?? 0);
      throw new UsageError(`${file}: Map keys must be unique at line ${line}, column ${col}.`);
    },
  });
  return document.toJS({ mapAsMap: true }) as unknown;
}

interface YamlKey {
  readonly value?: unknown;
  readonly range?: readonly number[] | null | undefined;
}

/** A key that is no text is refused later. */
function repeatedKey(keys: readonly YamlKey[]): YamlKey | undefined {
  const known = new Set<unknown>();
  for (const key of keys) {
    if (key.value === undefined) continue;
    if (known.has(key.value)) return key;
    known.add(key.value);
  }
  return undefined;
}
