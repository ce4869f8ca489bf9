import type { CliCommand } from '../invocation.ts';
import { currentDefinitions, definitionText } from '../own/definition-files.ts';
import { oneOf, ownCommand } from '../own/own-command.ts';

const usage = `Usage: muster export --format yaml|json [TYPE...]

Writes all definitions, or those of some types, to standard output, for muster apply and to be kept in git. Secrets are ********,
which apply leaves as they are.

muster export DIR, without --format, writes all tables of a server on this machine as CSV files, secrets too.`;

export const command: CliCommand = ownCommand(usage, { format: 'value' }, async ({ client, stdout }, options) => {
  const format = oneOf('--format', options.value('format'), ['yaml', 'json'] as const) ?? 'yaml';
  const types = options.operands.length > 0 ? options.operands : undefined;
  const { definitions } = await currentDefinitions(client, types);
  await stdout.write(definitionText(definitions, format));
  return 0;
});
