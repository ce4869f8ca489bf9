import { say, xcatCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { writeData } from '../formats.ts';
import { referenceVersion } from '../lines.ts';
import { flag } from '../options.ts';
import type { Dump } from './table-files.ts';

export const lsxcatd = xcatCommand({
  usage: `Usage: lsxcatd -v | -d | -a | -t
       lsxcatd -h | --help

Shows what kind of server this is.`,
  options: {
    'help|h|?': 'flag',
    'version|v': flag('the version of xCAT whose commands these are'),
    d: flag('the kind of its database'),
    a: flag('both'),
    t: flag('whether this is a service node; there are none here'),
  },
  asksItself: true,
  operands: 0,
  run(invocation, { flag: has }) {
    if (has('help')) return say(invocation, lsxcatd.usage);
    if (!has('version') && !has('d') && !has('a') && !has('t')) return say(invocation, lsxcatd.usage, 1);
    if (has('version') || has('a')) say(invocation, `Version ${referenceVersion}`);
    if (has('d') || has('a')) say(invocation, 'dbengine=SQLite');
    return 0;
  },
});

export const lskit = xcatCommand({
  usage: `Usage: lskit
       lskit -h | --help | -v | --version

Lists the software kits that the table kit has.`,
  operands: 0,
  common: reading,
  async run(invocation, { common: { format } }) {
    const { client, stdout } = invocation;
    const { kit } = (await client.get('/tables/kit/dump')) as { kit: Dump };
    if (format) return writeData(invocation, format, kit.rows);
    if (kit.rows.length === 0) stdout.line('No kits were found.');
    for (const { kitname } of kit.rows) if (kitname !== undefined) stdout.line(kitname);
    return 0;
  },
});
