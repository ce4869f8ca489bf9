import type { Invocation } from '../invocation.ts';

type Columns = Readonly<Record<string, string | null>>;

/** One row of a table before and after, as /changes and dry runs tell it. */
export interface RowChange {
  readonly table: string;
  readonly key: Readonly<Record<string, string>>;
  readonly before: Columns | null;
  readonly after: Columns | null;
}

/** A diff: what goes with a minus, in red, and what comes with a plus, in green. Only columns that differ are shown. */
export async function writeRows(
  { stdout, terminal }: Pick<Invocation, 'stdout' | 'terminal'>,
  rows: readonly RowChange[],
): Promise<void> {
  const paint = (code: string, text: string): string => (terminal.colour ? `\u001B[${code}m${text}\u001B[0m` : text);
  for (const { table, key, before, after } of rows) {
    const lines: string[] = [];
    for (const column of new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])) {
      if (Object.hasOwn(key, column)) continue;
      const [old, now] = [before?.[column] ?? null, after?.[column] ?? null];
      if (old === now && old !== '********') continue;
      if (old !== null) lines.push(paint('31', `-  ${column}=${oneLine(old)}`));
      if (now !== null) lines.push(paint('32', `+  ${column}=${oneLine(now)}`));
    }
    if (lines.length === 0 && before && after) continue;
    const mark = before === null ? ' (new)' : after === null ? ' (removed)' : '';
    const name = Object.entries(key).map(([column, value]) => `${column}=${oneLine(value)}`);
    await stdout.line(paint('1', `${table} ${name.join(',')}${mark}`));
    for (const line of lines) await stdout.line(line);
  }
}

/** No value can draw on the terminal, or look like a line of its own. */
export const oneLine = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
