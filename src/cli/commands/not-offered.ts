import { type CliCommand, xcatCommand } from '../command.ts';
import { errorLine } from '../lines.ts';
import { notOffered } from '../nodes/node-command.ts';

export const getmacs = notOffered(
  'Usage: getmacs NODERANGE',
  'nodediscoverstart lets machines that boot from the network report their MAC addresses; chdef NODE mac=ADDRESS sets one.',
);
export const rnetboot = notOffered(
  'Usage: rnetboot NODERANGE',
  'rinstall boots nodes from the network; rsetboot NODERANGE net and rpower NODERANGE boot do it in two steps.',
);
export const rshutdown = notOffered('Usage: rshutdown NODERANGE', 'rpower NODERANGE softoff shuts machines down.');

/** A command of xCAT's that muster has no use for: it says what to use instead. */
export const absent = (name: string, instead: string): CliCommand =>
  xcatCommand({
    usage: `${name} does nothing here. ${instead}`,
    version: false,
    rules: { passUnknown: true },
    run({ stderr }) {
      stderr.line(errorLine(`There is no ${name}. ${instead}`));
      return 1;
    },
  });
