import { act } from '../acts.ts';
import { helpAndVersion, helpOrVersion } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: makenetworks [-d] [ATTRIBUTE=VALUE]...

  Defines the networks that the management node is in.
  -d   only show what would be defined`,
  async run(invocation) {
    const options = parseOptions(invocation.argv, { ...helpAndVersion, 'd|display': 'flag', 'V|verbose': 'flag' });
    const done = helpOrVersion(invocation, command.usage, options);
    if (done !== undefined) return done;
    if (options.flag('d')) return show(invocation);
    const body = Object.fromEntries(
      options.operands
        .filter((word) => word.includes('='))
        .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
    );
    await act(invocation, 'POST', '/networks', { body });
    return 0;
  },
};

interface RowChange {
  readonly table: string;
  readonly key: string;
  readonly after?: Readonly<Record<string, string>>;
}

async function show({ client, stdout }: Invocation): Promise<number> {
  const { body } = await client.call('POST', '/networks', { body: {}, query: { dryRun: '1' } });
  const changes = ((body as { changes?: readonly RowChange[] } | undefined)?.changes ?? []).filter(
    ({ table }) => table === 'networks',
  );
  stdout.line(`\n#From ${client.server}.`);
  for (const { key, after = {} } of changes) {
    const lines = Object.entries(after).map(([attribute, value]) => `    ${attribute}=${value}\n`);
    stdout.write(`${key}:\n    objtype=network\n${lines.join('')}\n`);
  }
  return 0;
}
