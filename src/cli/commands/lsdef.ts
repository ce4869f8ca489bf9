import type { CliCommand } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: lsdef [-t TYPE[,TYPE]...] [-o NAMES | NODERANGE] [-i ATTRIBUTE,...]`,
  async run({ argv, stdout, client }) {
    const { flag } = parseOptions(argv, { 'help|h|?': 'flag', 'version|v': 'flag' });
    if (flag('help')) stdout.line(command.usage);
    else if (flag('version')) stdout.line(`lsdef - Version ${referenceVersion}`);
    else for (const name of (await client.get('/nodes')) as string[]) stdout.line(`${name}  (node)`);
    return 0;
  },
};
