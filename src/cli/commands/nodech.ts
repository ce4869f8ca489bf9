import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { rangeWithin, sortedWords, tellUnknownColumn } from '../columns.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: nodech NODERANGE TABLE.COLUMN=VALUE [...]
       nodech -d NODERANGE TABLE [...]
       nodech -h | --help | -v | --version

Changes columns of nodes' own rows; groups and mgt need no table. An empty value hides what the groups give.

  TABLE.COLUMN=VALUE    sets the column
  TABLE.COLUMN,=ITEMS   puts items into a list
  TABLE.COLUMN^=ITEMS   takes items out of a list
  TABLE.COLUMN==VALUE   only nodes that have this value (likewise !=, =~, !~)
  -d                    removes the nodes' rows of the tables`,
  async run(invocation) {
    const { argv, client, stderr } = invocation;
    const options = parseOptions(argv, { 'delete|d': 'flag', ...helpAndVersion });
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [range = '', ...words] = options.operands;
    if (words.length === 0) return usageError(invocation, command.usage);
    if (options.flag('delete')) return dropRows(invocation, range, words);
    const { set, add, remove, criteria, malformed } = sortedWords(words);
    const changes = Object.keys({ ...set, ...add, ...remove }).length > 0;
    if (malformed.length > 0 || !changes) {
      // Whether there are such nodes is said first.
      await client.get(path('nodes', range, 'nodels'));
      for (const word of malformed) stderr.line(errorLine(`Malformed argument ${word} ignored.`, client.server));
      return malformed.length > 0 ? 1 : 0;
    }
    try {
      await client.call('PUT', path('nodes', rangeWithin(range, criteria), 'columns'), { body: { set, add, remove } });
    } catch (error) {
      return tellUnknownColumn(error, invocation);
    }
    return 0;
  },
};

async function dropRows({ client, stderr }: Invocation, range: string, tables: readonly string[]): Promise<number> {
  try {
    await client.call('PUT', path('nodes', range, 'columns'), { body: { tables } });
    return 0;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const unknown = error.missing.find((name) => tables.includes(name));
    if (unknown === undefined) throw error;
    stderr.line(errorLine(`ERROR: Unable to open table ${unknown} in configuration`, client.server));
    return 1;
  }
}
