import { allNodes, groupsOf } from '../cluster.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: muster genders [-i ATTRIBUTE,...]

Prints a genders file: each node with its groups and, as attribute=value, the attributes that are named.`;

/** Blanks, commas and equal signs would be read as something else. */
const isPlain = (value: string): boolean => /^[^\s,=#]+$/.test(value);

export const command: CliCommand = {
  usage,
  async run({ argv, client, stdout }) {
    const options = parseOptions(argv, { 'help|h': 'flag', i: 'value' });
    if (options.flag('help')) return told({ stdout }, usage);
    const wanted = options.value('i')?.split(',') ?? [];
    for (const [node, attributes] of Object.entries(await allNodes(client))) {
      const values = wanted.flatMap((name) => {
        const value = attributes[name] ?? '';
        return isPlain(value) ? `${name}=${value}` : [];
      });
      await stdout.line(`${node} ${[...groupsOf(attributes), ...values].join(',')}`.trimEnd());
    }
    return 0;
  },
};
