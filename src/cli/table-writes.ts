import { path } from './client.ts';
import { Refused } from './client-errors.ts';
import { usageError } from './familiar.ts';
import type { Invocation } from './invocation.ts';
import { parseOptions } from './options.ts';

/** How chtab and tabch differ: they say the same in other words. */
export interface TableWriter {
  readonly usage: string;
  version(): string;
  unknownTable(invocation: Invocation, table: string): number;
  unknownColumn(invocation: Invocation, column: string): number;
}

/** Changes or removes the rows of tables that have the given values. */
export async function writeTables(invocation: Invocation, writer: TableWriter): Promise<number> {
  const options = parseOptions(invocation.argv, { 'delete|d': 'flag', 'help|h|?': 'flag', 'version|v': 'flag' });
  const { stdout, stderr } = invocation;
  if (options.flag('help')) return usageError(invocation, writer.usage, 0);
  if (options.flag('version')) {
    stdout.line(writer.version());
    return 0;
  }
  const [keys, ...words] = options.operands;
  if (keys === undefined || options.unknown.length > 0) return usageError(invocation, writer.usage);
  if (options.flag('delete')) {
    return inOrder(
      invocation,
      writer,
      words.map((table) => ({ method: 'DELETE', table, keys, columns: undefined })),
    );
  }
  const columns = new Map<string, Record<string, string>>();
  for (const word of words) {
    const [, table, column, value] = /^([^.=]+)\.([^=]+)=(.*)$/s.exec(word) ?? [];
    if (table === undefined || column === undefined || /[,^+:-]$/.test(column)) {
      stderr.line(`Error: "${word}" is not TABLE.COLUMN=VALUE.`);
      return 1;
    }
    columns.set(table, { ...columns.get(table), [column]: value! });
  }
  return inOrder(
    invocation,
    writer,
    [...columns].map(([table, values]) => ({ method: 'PUT', table, keys, columns: values })),
  );
}

interface Write {
  readonly method: 'PUT' | 'DELETE';
  readonly table: string;
  readonly keys: string;
  readonly columns: Readonly<Record<string, string>> | undefined;
}

/** Where there are several tables, all are tried before the first is written. */
async function inOrder(invocation: Invocation, writer: TableWriter, writes: readonly Write[]): Promise<number> {
  const { client } = invocation;
  const send = ({ method, table, keys, columns }: Write, query: Record<string, string> = {}) =>
    client.call(method, path('tables', table, 'rows', keys), { query, ...(columns ? { body: columns } : {}) });
  for (const write of writes) {
    try {
      await send(write, writes.length > 1 ? { dryRun: '1' } : {});
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const [strange] = error.missing;
      if (strange === write.table) return writer.unknownTable(invocation, write.table);
      if (strange?.startsWith(`${write.table}.`)) return writer.unknownColumn(invocation, strange);
      throw error;
    }
  }
  if (writes.length > 1) for (const write of writes) await send(write);
  return 0;
}
