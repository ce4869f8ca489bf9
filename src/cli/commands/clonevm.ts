import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';
import type { CliCommand } from '../invocation.ts';

const usage = `Usage: clonevm NODERANGE -t MASTER | -b MASTER [-d] [-f]

  -t   makes a master of a machine
  -b   makes machines from a master
  -d   with disks of their own
  -f   also of a machine that runs; disks in the way are replaced`;

const described = nodeCommand({
  usage,
  run(call) {
    const options = parseOptions(call.words, {
      't|target': 'value',
      'b|base': 'value',
      'd|detached': 'flag',
      'f|force': 'flag',
    });
    const [tomaster, frommaster] = [options.value('t'), options.value('b')];
    const body = {
      ...(tomaster === undefined ? {} : { tomaster }),
      ...(frommaster === undefined ? {} : { frommaster }),
      ...(options.flag('d') ? { detach: 'yes' } : {}),
      ...(options.flag('f') ? { force: 'yes' } : {}),
    };
    const lines = (value: unknown): string[] => [(value as { vmclone?: string }).vmclone ?? ''].filter(Boolean);
    return work(call, { method: 'POST', at: path('nodes', call.range, 'vmclone'), body }, { lines });
  },
});

/** Without a word it is silent. */
export const command: CliCommand = {
  usage: described.usage,
  run: (invocation) => (invocation.argv.length === 0 ? Promise.resolve(0) : described.run(invocation)),
};
