import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';

export const command = nodeCommand({
  usage: `Usage: mkvm NODERANGE [-s SIZE,...] [--mem SIZE] [--cpus NUMBER] [-f]

  Makes the virtual machines of nodes as their attributes say.
  -s   disks to make, in gigabytes or with a unit
  -f   replace disks that are in the way`,
  run(call) {
    const options = parseOptions(call.words, {
      's|size': 'value',
      mem: 'value',
      cpus: 'value',
      'f|force': 'flag',
      'm|master': 'value',
      'p|petitboot': 'flag',
    });
    const body = {
      ...member('disksize', options.value('s')),
      ...member('memorysize', options.value('mem')),
      ...member('cpucount', options.value('cpus')),
      ...(options.flag('f') ? { force: 'yes' } : {}),
    };
    return work(call, { method: 'POST', at: path('nodes', call.range, 'vm'), body }, { lines: () => [] });
  },
});

const member = (name: string, value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { [name]: value };
