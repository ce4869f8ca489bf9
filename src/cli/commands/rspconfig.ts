import { path } from '../client.ts';
import { codeOf, labelled, type NodeCall, nodeCommand, refuseByKind, refuseForEach } from '../nodes/node-command.ts';
import { workOnNodes } from '../nodes/work.ts';

const readable = [
  'ip',
  'netmask',
  'gateway',
  'backupgateway',
  'garp',
  'mac',
  'vlan',
  'community',
  'snmpdest',
  'alert',
  'hostname',
];
const accounts = ['userid', 'username', 'password'];
const known = (name: string): boolean => [...readable, ...accounts].includes(name) || /^snmpdest\d+$/.test(name);

export const rspconfig = nodeCommand({
  usage: `Usage: rspconfig NODERANGE NAME[=VALUE]...

  Shows and changes settings of BMCs.

  ip, netmask, gateway, backupgateway, vlan, garp   the network
  community, snmpdest, snmpdest1.., alert           SNMP and alerts
  hostname, mac
  userid=N username=NAME password=PASSWORD          an account, all in one call`,
  words: Number.POSITIVE_INFINITY,
  run(call) {
    const settings = call.words;
    if (settings.length === 0)
      return refuseByKind(call, (mgt) => `options are required when using mgt=${mgt}, see -h.`);
    const stranger = settings.find((word) => !known(word.split('=', 1)[0]!));
    if (stranger !== undefined)
      return refuseByKind(
        call,
        (mgt) => `Error: Unsupported command: rspconfig ${stranger.split('=', 1)[0]} when using mgt=${mgt}.`,
      );
    if (settings.some((word) => word === 'username' || word === 'password'))
      return refuseForEach(call, () => ({ error: 'The username is invalid' }));
    return configure(call, settings);
  },
});

/** Everything that is set goes in one request, all or nothing; then comes what is asked for, and what has become of what was set. */
async function configure(call: NodeCall, settings: readonly string[]): Promise<number> {
  const { invocation, range, common } = call;
  const set = settings
    .filter((word) => word.includes('='))
    .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const);
  const quiet = { lines: () => [] };
  if (set.length > 0) {
    const at = path('nodes', range, 'sp', set[0]![0]);
    const done = await workOnNodes(
      invocation,
      { method: 'PUT', at, body: Object.fromEntries(set) },
      { range, ...quiet },
      common,
    );
    if (done.left) return 0;
    if (done.failed > 0) return codeOf(done);
  }
  let code = 0;
  for (const word of settings) {
    const name = word.split('=', 1)[0]!;
    if (accounts.includes(name)) continue;
    const at = path('nodes', range, 'sp', name);
    const asked = await workOnNodes(invocation, { method: 'GET', at }, { range, lines: labelled }, common);
    code = Math.max(code, codeOf(asked));
  }
  return code;
}
