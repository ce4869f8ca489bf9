import type { CliCommand } from '../invocation.ts';
import { errorLine } from '../lines.ts';

/** Commands of the reference system that muster has no use for, and what serves instead. */
const instead: Readonly<Record<string, string>> = {
  chzone: 'All nodes are one zone here: there is one SSH key, which muster sshkey shows.',
  makeconservercf: 'There are no consoles here yet.',
  makegocons: 'There are no consoles here yet.',
  makentp: 'There is no time server here; the postscript setupntp sets up the clients.',
  mkzone: 'All nodes are one zone here: there is one SSH key, which muster sshkey shows.',
  monls: 'There are no monitoring plug-ins here; nodestat tells what nodes look like.',
  nodeimport: 'There are no hardware profiles here; mkdef -z makes nodes of a stanza file.',
  regnotif: 'Scripts are not called when tables change; watch the events of the server.',
  rmzone: 'All nodes are one zone here: there is one SSH key, which muster sshkey shows.',
  switchdiscover: 'Switches are not looked for here.',
  swapnodes: 'Nodes do not change places; chdef gives each the attributes of the other.',
};

export const command: CliCommand = {
  usage: 'This command of xCAT does nothing here.',
  run({ name, argv, stdout, stderr }) {
    const text = instead[name] ?? command.usage;
    if (argv.includes('-h') || argv.includes('--help')) {
      stdout.line(`${name} does nothing here. ${text}`);
      return Promise.resolve(0);
    }
    stderr.line(errorLine(`There is no ${name}. ${text}`));
    return Promise.resolve(1);
  },
};
