import { messagesIn, Tried } from '../client.ts';
import type { Invocation } from '../command.ts';
import { hidden } from '../lines.ts';
import { oneLine } from '../output.ts';

type Columns = Readonly<Record<string, string | null>>;

/** One row of a table before and after, as /changes and dry runs show it. */
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
  const painted = (code: string, text: string) => {
    if (terminal.colour) stdout.draw(`\u001B[${code}m`);
    stdout.write(text);
    if (terminal.colour) stdout.draw('\u001B[0m');
    return stdout.write('\n');
  };
  for (const { table, key, before, after } of rows) {
    const lines: [code: string, text: string][] = [];
    for (const column of new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])) {
      if (Object.hasOwn(key, column)) continue;
      const [old, now] = [before?.[column] ?? null, after?.[column] ?? null];
      if (old === now && old !== hidden) continue;
      if (old !== null) lines.push(['31', `-  ${column}=${oneLine(old)}`]);
      if (now !== null) lines.push(['32', `+  ${column}=${oneLine(now)}`]);
    }
    if (lines.length === 0 && before && after) continue;
    const mark = before === null ? ' (new)' : after === null ? ' (removed)' : '';
    const name = Object.entries(key).map(([column, value]) => `${column}=${oneLine(value)}`);
    await painted('1', `${table} ${name.join(',')}${mark}`);
    for (const [code, text] of lines) await painted(code, text);
  }
}

/** Runs a command whose changes the server only tries, and shows what they would be. */
export async function tryOnly(invocation: Invocation, run: () => Promise<number> | number): Promise<number> {
  invocation.client.mode = 'try';
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Tried)) throw error;
    await writeTried(invocation, error.answer);
    return 0;
  }
}

interface TriedAnswer {
  readonly changes?: readonly RowChange[];
  readonly nodes?: unknown;
  readonly debug?: unknown;
}

/** What a server answers to a dry run: rows that would change, and whatever else it has to say. */
export async function writeTried(invocation: Pick<Invocation, 'stdout' | 'terminal'>, answer: unknown): Promise<void> {
  const { changes, nodes: _, debug: _debug, ...others } = (answer ?? {}) as TriedAnswer;
  if (changes) await writeRows(invocation, changes);
  for (const message of messagesIn(answer)) await invocation.stdout.line(message);
  if (Object.keys(others).length > 0) await invocation.stdout.line(JSON.stringify(others, null, 2));
  else if (!changes?.length) await invocation.stdout.line('Nothing would change.');
}
