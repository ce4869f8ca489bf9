import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { usageError } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, resultLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: gettab [-H] COLUMN=VALUE[,COLUMN=VALUE...] TABLE.COLUMN [...]
       gettab -h | --help

Shows columns of the row that has the values. What groups give is not looked at.

  -H   tells the columns before their values`,
  async run(invocation) {
    const { argv, stdout, stderr, client, env } = invocation;
    const options = parseOptions(argv, { 'help|h|?': 'flag', H: 'flag' });
    if (options.flag('help')) return usageError(invocation, command.usage, 0);
    const [keys, ...words] = options.operands;
    if (keys === undefined || words.length === 0 || options.unknown.length > 0)
      return usageError(invocation, command.usage);
    const long = options.flag('H') || words.length > 1;
    const rows = new Map<string, Row | undefined>();
    for (const word of new Set(words)) {
      const [table = '', column = ''] = word.split('.', 2);
      if (!rows.has(table)) {
        const row = await rowWith(invocation, table, keys);
        if (typeof row === 'string') {
          stderr.line(errorLine(`Unknown key ${row} to ${table}`, client.server));
          return 1;
        }
        rows.set(table, row);
      }
      const row = rows.get(table);
      if (!row || (row[column] === undefined && !(await hasColumn(invocation, table, column)))) continue;
      const value = row[column] ?? '';
      stdout.line(resultLine(long ? `${word}: ${value}` : value, { env, server: client.server }));
    }
    return 0;
  },
};

type Row = Readonly<Record<string, string>>;

/** The first such row; undefined if there is none, the name of a column if that is none of the table. */
async function rowWith({ client }: Invocation, table: string, keys: string): Promise<Row | string | undefined> {
  try {
    const reply = (await client.get(path('tables', table, 'rows', keys))) as Record<string, Row[]>;
    return reply[table]?.[0];
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const [strange] = error.missing;
    if (error.kind === 'unknown-object' && strange === undefined) return undefined;
    if (strange === table) return keys.split('=', 1)[0]!;
    if (strange?.startsWith(`${table}.`)) return strange.slice(table.length + 1);
    throw error;
  }
}

async function hasColumn({ client }: Invocation, table: string, column: string): Promise<boolean> {
  const type = `tables.${table}`;
  const reply = (await client.get(path('attributes', type))) as Record<string, object>;
  return Object.hasOwn(reply[type] ?? {}, column);
}
