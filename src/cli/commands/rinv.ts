import { path } from '../client.ts';
import { errorLine } from '../lines.ts';
import { namesIn } from '../nodes/confirm.ts';
import { labelled, nodeCommand, refuseByKind, work } from '../nodes/node-command.ts';

const kinds = ['all', 'model', 'serial', 'asset', 'vpd', 'deviceid', 'guid', 'firm', 'dimm', 'mprom', 'cpu', 'mac'];

/** What a machine lacks is not told here. */
const nothingThere = /^No \w+ information found in system$/;

const usage = `Usage: rinv NODERANGE [KIND]

  all (the default), ${kinds.slice(1).join(', ')}
  -t   taken with all and vpd, as scripts give it; nothing is stored by it`;

export const command = nodeCommand({
  usage,
  async run(call) {
    const { invocation, range, words } = call;
    const [kind = 'all'] = words.filter((word) => !word.startsWith('-'));
    if (!kinds.includes(kind)) {
      // Also tells who the server is, which the line names.
      await namesIn(invocation.client, range);
      invocation.stderr.line(errorLine(usage, invocation.client.server));
      return 1;
    }
    if (words.includes('-t') && kind !== 'all' && kind !== 'vpd')
      return refuseByKind(call, (mgt) => `option '-t' can only work with 'all' or 'vpd' when using mgt=${mgt}.`);
    const at = path('nodes', range, 'inventory', ...(kind === 'all' ? [] : [kind]));
    return work(
      call,
      { method: 'GET', at },
      { lines: (value) => labelled(value).filter((line) => !nothingThere.test(line)) },
    );
  },
});
