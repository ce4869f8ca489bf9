import { path } from '../client.ts';
import { sortedWords, tellUnknownColumn } from '../columns.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: nodeadd NODERANGE groups=GROUP[,GROUP...] [TABLE.COLUMN=VALUE...]
       nodeadd -h | --help | -v | --version

Makes nodes, or sets columns of those that exist.`,
  async run(invocation) {
    const { argv, client, stderr } = invocation;
    const options = parseOptions(argv, helpAndVersion);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [range = '', ...words] = options.operands;
    if (words.length === 0) return usageError(invocation, command.usage);
    const { set, add, remove, criteria, malformed } = sortedWords(words);
    const strange = [...malformed, ...Object.keys({ ...add, ...remove }), ...criteria.map(({ written }) => written)];
    if (strange.length > 0) {
      await client.get('/tables');
      for (const word of strange) stderr.line(errorLine(`Malformed argument ${word} ignored.`, client.server));
      return 1;
    }
    try {
      await client.call('POST', path('nodes', range, 'columns'), { body: { set } });
    } catch (error) {
      return tellUnknownColumn(error, invocation);
    }
    return 0;
  },
};
