import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';

/** A node that answers without any service we know is shown by what it boots, or as offline. */
const stateText = (state: string): string => (state === 'ping' ? 'offline' : state.replace(/^ping /, ''));

export const command = nodeCommand({
  bare: 1,
  usage: `Usage: nodestat NODERANGE [-p] [-u] [-m]

  What nodes look like from outside: the services that answer, ping with the boot state, or noping.
  -p   ask the hardware of nodes that do not answer whether they are on
  -u   write what was seen to status and appstatus
  -m   look for the applications that the table monsetting names`,
  run(call) {
    const { range, words } = call;
    const at = path('nodes', range, 'nodestat');
    const has = (...names: readonly string[]): boolean => words.some((word) => names.includes(word));
    const lines = (value: unknown): string[] => [stateText((value as { nodestat: string }).nodestat)];
    if (!has('-p', '--powerstat', '-u', '--updatedb', '-m', '--usemon'))
      return work(call, { method: 'GET', at }, { lines });
    const yes = (wanted: boolean): string => (wanted ? 'yes' : 'no');
    const body = {
      update: yes(has('-u', '--updatedb')),
      power: yes(has('-p', '--powerstat')),
      usemon: yes(has('-m', '--usemon')),
    };
    return work(call, { method: 'PUT', at, body }, { lines });
  },
});
