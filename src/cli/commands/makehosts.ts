import { act } from '../acts.ts';
import { path } from '../client.ts';
import { helpAndVersion, helpOrVersion } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: makehosts [NODERANGE] [-n] [-l] [-o] [-a] [-d]

  Writes names and addresses of nodes to the hosts file.
  -n   drop all other lines but the management node's own
  -l   long names first
  -o   other names first
  -a   other names with their domain too
  -d   take the nodes' lines out`,
  async run(invocation) {
    const options = parseOptions(invocation.argv, {
      ...helpAndVersion,
      n: 'flag',
      l: 'flag',
      longnamefirst: 'flag',
      o: 'flag',
      othernamesfirst: 'flag',
      a: 'flag',
      adddomaintohostnames: 'flag',
      m: 'flag',
      mactolinklocal: 'flag',
      d: 'flag',
    });
    const done = helpOrVersion(invocation, command.usage, options);
    if (done !== undefined) return options.unknown.length > 0 ? 0 : done;
    const [range] = options.operands;
    if (options.flag('d')) {
      if (range !== undefined) await act(invocation, 'DELETE', path('nodes', range, 'host'));
      return 0;
    }
    const order =
      options.flag('l') || options.flag('longnamefirst')
        ? 'long'
        : options.flag('o') || options.flag('othernamesfirst')
          ? 'others'
          : undefined;
    const body = {
      ...(order === undefined ? {} : { order }),
      ...(options.flag('a') || options.flag('adddomaintohostnames') ? { longOthers: true } : {}),
    };
    if (options.flag('n')) await act(invocation, 'POST', '/services/host', { body: { ...body, fresh: true } });
    // Of the nodes only those that are named stay.
    if (options.flag('n') && range !== undefined) await act(invocation, 'DELETE', path('nodes', 'all', 'host'));
    if (range !== undefined) await act(invocation, 'POST', path('nodes', range, 'host'), { body });
    else if (!options.flag('n')) await act(invocation, 'POST', '/services/host', { body });
    return 0;
  },
};
