import { helpAndVersion, helpOrVersion } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';
import type { Dump } from '../csv.ts';

export const command: CliCommand = {
  usage: `Usage: lskit
       lskit -h | --help | -v | --version

Lists the software kits that the table kit has.`,
  async run(invocation) {
    const { argv, client, stdout } = invocation;
    const options = parseOptions(argv, helpAndVersion);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const { kit } = (await client.get('/tables/kit/dump')) as { kit: Dump };
    if (kit.rows.length === 0) stdout.line('No kits were found.');
    for (const { kitname } of kit.rows) if (kitname !== undefined) stdout.line(kitname);
    return 0;
  },
};
