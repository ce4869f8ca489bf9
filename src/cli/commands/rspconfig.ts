import { path } from '../client.ts';
import { UsageError } from '../errors.ts';
import { noteLine } from '../lines.ts';
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
  'solenabled',
  'solbitrate',
  'ipsrc',
  'ntp',
  'ntpservers',
  'timesyncmethod',
  'autoreboot',
  'powerrestorepolicy',
  'bootmode',
  'thermalmode',
  'powersupplyredundancy',
];
const accounts = ['userid', 'username', 'password'];
const known = (name: string): boolean => [...readable, ...accounts].includes(name) || /^snmpdest\d+$/.test(name);

export const rspconfig = nodeCommand({
  usage: `Usage: rspconfig NODERANGE NAME[=VALUE]...

  Shows and changes settings of BMCs.

  ip, netmask, gateway, backupgateway, vlan, garp   the network
  community, snmpdest, snmpdest1.., alert           SNMP and alerts
  hostname, mac
  solenabled, solbitrate                            IPMI: the serial console (serial over LAN)
  ipsrc, ntpservers                                 Redfish and OpenBMC: where its address and time come from
  timesyncmethod, autoreboot, powerrestorepolicy, bootmode, thermalmode, powersupplyredundancy   OpenBMC
  userid=N username=NAME password=PASSWORD          an account, all in one call; "muster bmc accounts" shows the userids`,
  words: Number.POSITIVE_INFINITY,
  async run(call) {
    const settings = call.words;
    if (settings.length === 0)
      return refuseByKind(call, (mgt) => `options are required when using mgt=${mgt}, see -h.`);
    const stranger = settings.find((word) => !known(word.split('=', 1)[0]!));
    if (stranger !== undefined)
      return refuseByKind(
        call,
        (mgt) => `Error: Unsupported command: rspconfig ${stranger.split('=', 1)[0]} when using mgt=${mgt}.`,
      );
    const { stderr } = call.invocation;
    const shows = `"muster bmc accounts ${call.range}" shows the accounts and their userids`;
    if (settings.some((word) => word === 'username' || word === 'password')) {
      const code = await refuseForEach(call, () => ({ error: 'The username is invalid' }));
      stderr.line(noteLine(`Give userid=N, username=NAME and password=PASSWORD in one call; ${shows}.`));
      return code;
    }
    checkDoubled(settings);
    const code = await configure(call, settings);
    // As the reference system, which prints nothing.
    if (settings.includes('userid')) stderr.line(noteLine(`userid can only be set; ${shows}.`));
    return code;
  },
});

/** One of two values would be dropped. The same value twice is no contradiction. */
function checkDoubled(settings: readonly string[]): void {
  const values = new Map<string, string>();
  for (const word of settings.filter((each) => each.includes('='))) {
    const name = word.split('=', 1)[0]!;
    if ((values.get(name) ?? word) !== word)
      throw new UsageError(`${name}= was given twice; give it once. Nothing was changed.`);
    values.set(name, word);
  }
}

/** Everything that is set goes in one request, all or nothing; then comes what is asked for, and what has become of what was set. */
async function configure(call: NodeCall, settings: readonly string[]): Promise<number> {
  const { invocation, range, common } = call;
  const set = settings
    .filter((word) => word.includes('='))
    .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const);
  const accountsSet = set.map(([name]) => name).filter((name) => accounts.includes(name));
  // Other settings are shown as they are now; an account cannot be shown.
  const lines = (value: unknown): string[] => [
    ...labelled(value).filter((line) => !line.startsWith('BMC IP: ')),
    ...(accountsSet.length > 0 ? [`Set ${accountsSet.join(', ')} succeeded.`] : []),
  ];
  if (set.length > 0) {
    const at = path('nodes', range, 'sp', set[0]![0]);
    const done = await workOnNodes(
      invocation,
      { method: 'PUT', at, body: Object.fromEntries(set) },
      { range, lines },
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
