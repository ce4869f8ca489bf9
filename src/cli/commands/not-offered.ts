import { type CliCommand, xcatCommand } from '../command.ts';
import { Refused } from '../errors.ts';
import { errorLine, refusalLines } from '../lines.ts';
import { nodeCommand, notOffered, refuseForEach } from '../nodes/node-command.ts';
import { namesIn } from '../nodes/work.ts';

export const getmacs = notOffered(
  'Usage: getmacs NODERANGE',
  'nodediscoverstart lets machines that boot from the network report their MAC addresses; chdef NODE mac=ADDRESS sets one.',
);
export const rnetboot = notOffered(
  'Usage: rnetboot NODERANGE',
  'rinstall boots nodes from the network; rsetboot NODERANGE net and rpower NODERANGE boot do it in two steps.',
);
export const rshutdown = notOffered('Usage: rshutdown NODERANGE', 'rpower NODERANGE softoff shuts machines down.');

export const rflash = nodeCommand({
  usage: 'Usage: rflash NODERANGE FILE\n\nmuster does not write firmware.',
  words: Number.POSITIVE_INFINITY,
  async run(call) {
    const { client, stderr } = call.invocation;
    if (call.words.length > 0) return refuseForEach(call, () => ({ error: 'muster does not write firmware.' }));
    await namesIn(client, call.range);
    stderr.line(errorLine('No option or hpm file is provided.', client.server));
    return 1;
  },
});

export const rcons = nodeCommand({
  usage: 'Usage: rcons NODE\n\nmuster has no consoles yet.',
  async run({ invocation: { client, stdout }, range }) {
    try {
      await namesIn(client, range);
      stdout.line('Error: muster has no consoles yet.');
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      for (const line of refusalLines(error, client.server)) stdout.line(line);
    }
    return 1;
  },
});

/** A command of xCAT's that muster has no use for: it says what to use instead. */
const absent = (name: string, instead: string): CliCommand =>
  xcatCommand({
    usage: `${name} does nothing here. ${instead}`,
    version: false,
    rules: { passUnknown: true },
    run({ stderr }) {
      stderr.line(errorLine(`There is no ${name}. ${instead}`));
      return 1;
    },
  });

const oneZone = 'There are no zones: muster has one SSH key for all nodes, which muster sshkey shows.';
const noConsoles = 'muster has no consoles yet.';

export const chzone = absent('chzone', oneZone);
export const mkzone = absent('mkzone', oneZone);
export const rmzone = absent('rmzone', oneZone);
export const makeconservercf = absent('makeconservercf', noConsoles);
export const makegocons = absent('makegocons', noConsoles);
export const makentp = absent(
  'makentp',
  'muster sets up no time server; the postscript setupntp sets up the nodes as clients of one.',
);
export const monls = absent(
  'monls',
  'There are no monitoring plug-ins; nodestat shows which nodes and services answer.',
);
export const nodeimport = absent(
  'nodeimport',
  'There are no hardware profiles; mkdef -z makes nodes from a stanza file.',
);
export const nodediscoverdef = absent(
  'nodediscoverdef',
  'A machine becomes the node that is defined with its MAC address, UUID or serial number; chdef sets these.',
);
export const regnotif = absent(
  'regnotif',
  'Use a hook: a row of the table hooks sends events to a URL or a program. muster events shows them.',
);
export const winstall = absent('winstall', 'rinstall boots nodes with an image.');
export const switchdiscover = absent('switchdiscover', 'muster does not search for switches; define them with mkdef.');
export const swapnodes = absent('swapnodes', 'chdef gives each node the attributes of the other.');
