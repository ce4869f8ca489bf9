import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';

export const command = nodeCommand({
  usage: `Usage: chvm NODERANGE [--mem SIZE] [--cpus NUMBER] [-a SIZE,...] [-p DISK,...] [--resize DISK=SIZE,...]

  Changes the virtual machines of nodes, as they run if they do.
  -a, -p, --resize   make, delete and grow disks`,
  run(call) {
    const options = parseOptions(call.words, {
      mem: 'value',
      cpus: 'value',
      a: 'value',
      p: 'value',
      d: 'value',
      resize: 'value',
      'f|force': 'flag',
    });
    const given = {
      memorysize: options.value('mem'),
      cpucount: options.value('cpus'),
      adddisk: options.value('a'),
      purgedisk: options.value('p'),
      resizedisk: options.value('resize'),
    };
    const body = {
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
      ...(options.flag('f') ? { force: 'yes' } : {}),
    };
    return work(call, { method: 'PUT', at: path('nodes', call.range, 'vm'), body }, { lines: () => [] });
  },
});
