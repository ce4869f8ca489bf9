import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { path } from '../client.ts';
import { CsvError, parseCsv } from '../csv.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

/** What no client may write. */
const never = ['token', 'auditlog', 'eventlog'];

export const command: CliCommand = {
  usage: `Usage: restorexCATdb [-a] [-V] -p DIRECTORY
       restorexCATdb -h | --help | -v | --version

Replaces the rows of all tables that have a file TABLE.csv in the directory: all of them, or nothing. Logs and tokens stay.

  -V   names each table`,
  async run(invocation) {
    const { argv, client, stdout, stderr } = invocation;
    const options = parseOptions(argv, { a: 'flag', V: 'flag', 'path|p': 'value', ...helpAndVersion });
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const directory = options.value('path');
    if (directory === undefined) return usageError(invocation, command.usage);
    const fail = (sentence: string): number => {
      stderr.line(errorLine(sentence));
      return 1;
    };
    const body: Record<string, object[]> = {};
    try {
      for (const file of readdirSync(directory)
        .filter((name) => name.endsWith('.csv'))
        .sort()) {
        const table = file.slice(0, -'.csv'.length);
        if (never.includes(table)) continue;
        try {
          body[table] = parseCsv(readFileSync(join(directory, file), 'utf8')).rows.map(({ row }) => row);
        } catch (error) {
          if (error instanceof CsvError) return fail(`${file}: ${error.message}`);
          throw error;
        }
      }
    } catch (error) {
      return fail(`The directory ${directory} cannot be read: ${(error as Error).message}`);
    }
    const tables = Object.keys(body);
    if (tables.length === 0) return fail(`There is no TABLE.csv in ${directory}.`);
    await client.call('PUT', path('tables', tables.join(','), 'dump'), { body });
    if (options.flag('V')) for (const table of tables) stdout.line(`Restored table: ${table}`);
    stdout.line('Restore of Database Complete.');
    return 0;
  },
};
