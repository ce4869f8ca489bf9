import { say, xcatCommand } from '../command.ts';
import { referenceVersion } from '../lines.ts';
import { flag } from '../options.ts';

export const lsxcatd = xcatCommand({
  usage: `Usage: lsxcatd -v | -d | -a | -t | --muster
       lsxcatd -h | --help

Shows what kind of server this is.`,
  options: {
    'help|h|?': 'flag',
    'version|v': flag('the version of xCAT whose commands these are'),
    'd|database': flag('the kind of its database'),
    'a|all': flag('both'),
    't|nodetype': flag('whether this is a service node; there are none here'),
    muster: flag('the version of muster'),
  },
  asksItself: true,
  operands: 0,
  async run(invocation, { flag: has }) {
    if (has('help')) return say(invocation, lsxcatd.usage);
    if (!['version', 'd', 'a', 't', 'muster'].some(has)) return say(invocation, lsxcatd.usage, 1);
    if (has('version') || has('a')) say(invocation, `Version ${referenceVersion}`);
    if (has('d') || has('a')) say(invocation, 'dbengine=SQLite');
    if (has('muster')) {
      const { version = 'of an unknown version' } = (await invocation.client.get('/health')) as { version?: string };
      say(invocation, `muster ${version}`);
    }
    return 0;
  },
});
