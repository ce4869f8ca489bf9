import { path } from '../client.ts';
import { sortedWords, tellUnknownColumn } from '../columns.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: nodegrpch GROUP[,GROUP...] TABLE.COLUMN=VALUE [...]
       nodegrpch -h | --help | -v | --version

Gives groups values of columns. What their members had there themselves is unset, so that all show the group's value.`,
  async run(invocation) {
    const { argv, client, stderr } = invocation;
    const options = parseOptions(argv, helpAndVersion);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [groups, ...words] = options.operands;
    if (groups === undefined) return usageError(invocation, command.usage);
    if (words.length === 0) return 0;
    const { set, add, remove, criteria, malformed } = sortedWords(words);
    const strange = [...malformed, ...Object.keys({ ...add, ...remove }), ...criteria.map(({ written }) => written)];
    if (strange.length > 0) {
      await client.get('/tables');
      for (const word of strange) stderr.line(errorLine(`Malformed argument ${word} ignored.`, client.server));
      return 1;
    }
    try {
      await client.call('PUT', path('groups', groups, 'columns'), { body: { set } });
    } catch (error) {
      return tellUnknownColumn(error, invocation);
    }
    return 0;
  },
};
