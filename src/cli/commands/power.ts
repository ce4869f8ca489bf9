import { path } from '../client.ts';
import { UsageError } from '../errors.ts';
import { ignoredLine } from '../lines.ts';
import { labelled, type NodeCall, nodeCommand, refuseByKind, refuseForEach, work } from '../nodes/node-command.ts';
import { flag, refused } from '../options.ts';

const readings = ['stat', 'state', 'status', 'bmcstate', 'pdustat', 'chassisstat'];
const actions = [
  'on',
  'off',
  'softoff',
  'boot',
  'reset',
  'cycle',
  'nmi',
  'suspend',
  'wake',
  'bmcreboot',
  'pduon',
  'pduoff',
  'pdureset',
  'chassison',
  'chassisoff',
  'chassisreset',
];
const destructive = [
  'off',
  'softoff',
  'boot',
  'reset',
  'cycle',
  'nmi',
  'pduoff',
  'pdureset',
  'chassisoff',
  'chassisreset',
];

interface Outcome {
  readonly power: string;
  /** Of actions whose end does not show what was done. */
  readonly before?: string;
  /** The one that was meant. */
  readonly chassis?: string;
}

/** xCAT prints what was done, which is not always the state that came of it. */
function outcomeText(action: string, { power, before, chassis }: Outcome): string {
  if (chassis !== undefined) return `chassis ${chassis} ${action === 'chassisreset' ? 'reset' : power}`;
  if (action === 'boot') return before === 'off' ? 'on' : 'reset';
  if (action === 'softoff') return before === 'off' ? 'off' : 'softoff';
  if (action === 'reset') return power === 'off' ? 'off' : 'reset';
  return action === 'on' || action === 'off' || readings.includes(action) ? power : action;
}

/** What came of outlets, as xCAT prints it: of a PDU without its name. */
function outletLines(value: object, node: string): string[] {
  return Object.entries(value as Record<string, string>).map(([outlet, state]) => {
    const colon = outlet.indexOf(':');
    const [pdu, number] = [outlet.slice(0, colon), outlet.slice(colon + 1)];
    return `${pdu === node ? '' : `${pdu} `}outlet ${number} is ${state}`;
  });
}

/** `relay=1,2`, as xCAT writes it, or `outlet=1,2`. */
const outletWord = /^(?:relay|outlet)s?=(.*)$/;

export const outlets = nodeCommand({
  usage: `Usage: muster outlets NODERANGE

  Shows the outlets that feed nodes, or the outlets of PDUs: state, and name, power, current and energy as far as they are measured.`,
  run(call) {
    const lines = (value: unknown): string[] => {
      const parts = value as Record<string, string | readonly string[]>;
      return Object.entries(parts).flatMap(([outlet, state]) => {
        if (outlet.includes(' ')) return [];
        const measured = ['power', 'current', 'energy', 'name'].flatMap((part) => parts[`${outlet} ${part}`] ?? []);
        const feeds = [parts[`${outlet} feeds`] ?? []].flat();
        return [
          [`${outlet} ${String(state)}`, ...measured, ...(feeds.length > 0 ? [`feeds ${feeds.join(' ')}`] : [])].join(
            ', ',
          ),
        ];
      });
    };
    return work(call, { method: 'GET', at: path('nodes', call.range, 'outlets') }, { lines });
  },
});

export const rpower = nodeCommand({
  usage: `Usage: rpower NODERANGE ACTION
       rpower PDUS on|off|reset|stat [relay=NUMBER,...] [--force]

  stat, state, status   the power state
  on, off               switch
  softoff               ask the operating system to shut down
  boot                  reset what is on, switch on what is off
  reset, cycle          restart, without and with a power cut
  nmi, suspend, wake    if the hardware can
  bmcreboot, bmcstate   restart the BMC, or show whether it answers
  chassison, chassisoff switch the chassis, slot or sled that a node is in (Redfish)
  chassisreset, chassisstat
                        restart it, or show whether it has power
  pduon, pduoff         switch the outlets that feed the nodes (attribute pdu)
  pdureset, pdustat     switch them off and on again, or show their states

Of nodes that are PDUs, on, off, reset and stat mean all their outlets, or those that relay= names.`,
  options: {
    q: flag('accepted for scripts; changes nothing'),
    'force|f': flag('also outlets that feed other nodes, and chassis with other nodes in them'),
    'verbose|V': 'flag',
    m: refused('muster waits for no status; nodestat and muster boot show it.', 'values'),
    t: refused('muster waits for no status; nodestat and muster boot show it.', 'value'),
    r: refused('muster never sends a power command twice; it reads the state instead.', 'optional'),
    w: refused('muster gives up BMCs by its own timeouts.', 'value'),
    o: refused('muster never sends a power command again to a BMC that does not answer.'),
    nodeps: refused('muster keeps no order between nodes.'),
    T: refused('only machines of Power have it.', 'value'),
    iso: refused(
      'muster media NODERANGE insert FILE attaches an ISO file; rinstall NODERANGE --media boots nodes without the network.',
      'value',
    ),
  },
  words: Number.POSITIVE_INFINITY,
  run(call) {
    const { range, words, invocation } = call;
    // xCAT takes relay= before the action, too.
    const inOrder = words.toSorted((a, b) => Number(outletWord.test(a)) - Number(outletWord.test(b)));
    const [action, ...others] = call.has('verbose') ? ['-V'] : outletWord.test(words[0] ?? '') ? inOrder : words;
    if (action === undefined)
      return refuseByKind(call, (mgt) => `Please enter an action (eg: boot,off,on, etc) when using mgt=${mgt}.`);
    if (![...readings, ...actions].includes(action))
      return refuseByKind(call, (mgt) => `Error: Unsupported command: rpower ${action} when using mgt=${mgt}.`);
    const reads = readings.includes(action);
    const chosen = others.flatMap((word) => outletWord.exec(word)?.[1] ?? []);
    const isChassis = action.startsWith('chassis');
    if (chosen.length > 0 || (call.flag('force') && !isChassis) || action.startsWith('pdu'))
      return switchOutlets(call, action, others);
    if (others.length > 0 && !reads)
      return refuseByKind(
        call,
        (mgt) => `Error: Unsupported command: rpower ${words.join(' ')} when using mgt=${mgt}.`,
      );
    // Behind what only reads, scripts may have more words.
    if (others.length > 0)
      invocation.stderr.line(ignoredLine(others.join(' '), `${action} only shows the state, and takes no other word.`));
    const at = path('nodes', range, 'power');
    const lines = (value: unknown, node: string): string[] =>
      isOutcome(value) ? [outcomeText(action, value)] : outletLines(value as object, node);
    if (reads && call.flag('force'))
      throw new UsageError(`--force means nothing to ${action}, which only shows the state.`);
    if (reads && action !== 'bmcstate' && !isChassis) return work(call, { method: 'GET', at }, { lines });
    return work(
      call,
      { method: 'PUT', at, body: { action, ...(call.flag('force') ? { force: true } : {}) } },
      { lines, ...(destructive.includes(action) ? { question: `rpower ${action} on` } : {}) },
    );
  },
});

/** Of a PDU there are outlets instead. */
const isOutcome = (value: unknown): value is Outcome => typeof (value as { power?: unknown }).power === 'string';

function switchOutlets(call: NodeCall, action: string, words: readonly string[]): Promise<number> {
  const unknown = words.find((word) => !outletWord.test(word));
  if (unknown !== undefined)
    throw new UsageError(`"${unknown}" means nothing behind ${action}; outlets are relay=1,2.`);
  const chosen = words.flatMap((word) => outletWord.exec(word)?.[1]?.split(',') ?? []);
  const body = {
    action,
    ...(words.length > 0 ? { outlets: chosen } : {}),
    ...(call.flag('force') ? { force: true } : {}),
  };
  const lines = (value: unknown, node: string): string[] => outletLines(value as object, node);
  const question = destructive.includes(action) ? { question: `rpower ${action} on` } : {};
  return work(call, { method: 'PUT', at: path('nodes', call.range, 'power'), body }, { lines, ...question });
}

export const rspreset = nodeCommand({
  usage: `Usage: rspreset NODERANGE

  Restarts the BMCs of nodes, as rpower NODERANGE bmcreboot does. The nodes themselves go on; their BMCs are away for a while.`,
  run(call) {
    const request = { method: 'PUT', at: path('nodes', call.range, 'power'), body: { action: 'bmcreboot' } } as const;
    const lines = (value: unknown): string[] => [(value as Outcome).power];
    return work(call, request, { lines, question: 'Restart the BMCs of' });
  },
});

export const rbeacon = nodeCommand({
  usage: `Usage: rbeacon NODERANGE on|off|stat

  Switches the light by which a machine is found in its rack; stat shows whether it is on, where the hardware can say.`,
  words: 1,
  run(call) {
    const { range, words } = call;
    const [action = ''] = words;
    const at = path('nodes', range, 'beacon');
    const lines = (value: unknown): string[] => [(value as { beacon?: string }).beacon ?? action];
    if (action === 'stat') return work(call, { method: 'GET', at }, { lines });
    if (action !== 'on' && action !== 'off')
      return refuseForEach(call, () => ({ error: "Only 'on' or 'off' is supported for IPMI managed nodes." }));
    return work(call, { method: 'PUT', at, body: { action } }, { lines });
  },
});

const orders = ['net', 'hd', 'cd', 'floppy', 'def', 'default', 'setup'];

export const rsetboot = nodeCommand({
  usage: `Usage: rsetboot NODERANGE [net | hd | cd | floppy | setup | default | stat] [-p] [-u]

  stat   show what is set, the default`,
  options: { p: flag('for all boots, not only the next'), u: flag('by UEFI') },
  words: 1,
  run(call) {
    const { range, words } = call;
    const [order = 'stat'] = words;
    const at = path('nodes', range, 'nextboot');
    const lines = (value: unknown): string[] => [(value as { nextboot: string }).nextboot];
    if (order === 'stat') {
      const setting = ['p', 'u'].find((name) => call.flag(name));
      if (setting !== undefined)
        throw new UsageError(
          `-${setting} is for setting the boot device, and stat only shows it. Leave one of them out.`,
        );
      return work(call, { method: 'GET', at }, { lines });
    }
    if (!orders.includes(order)) return refuseForEach(call, () => ({ error: `unsupported command setboot ${order}` }));
    const body = {
      order,
      ...(call.flag('p') ? { persistent: 'yes' } : {}),
      ...(call.flag('u') ? { mode: 'uefi' } : {}),
    };
    return work(call, { method: 'PUT', at, body }, { lines });
  },
});

export const rbootseq = nodeCommand({
  usage: `Usage: rbootseq NODERANGE [NAME,...]

  Without names: shows the boot order. With names: puts these devices first, permanently.`,
  words: Number.POSITIVE_INFINITY,
  run(call) {
    const { range, words } = call;
    const order = words.flatMap((word) => word.split(',')).filter(Boolean);
    const at = path('nodes', range, 'bootorder');
    const lines = (value: unknown): string[] => [(value as { bootorder?: string }).bootorder ?? order.join(',')];
    return work(call, order.length > 0 ? { method: 'PUT', at, body: { order } } : { method: 'GET', at }, { lines });
  },
});

export const renergy = nodeCommand({
  usage: `Usage: renergy NODERANGE [all | ATTRIBUTE,... | ATTRIBUTE=VALUE]

  Shows power consumption and its limits. ATTRIBUTE=VALUE sets a limit: cappingstatus=on, cappingvalue=250.`,
  words: Number.POSITIVE_INFINITY,
  run(call) {
    const { range, words } = call;
    const set = words.filter((word) => word.includes('='));
    if (set.length > 0) {
      if (words.length > 1)
        return refuseForEach(call, () => ({ error: `Set one attribute at a time, not ${words.join(' ')}.` }));
      const [attribute = '', ...texts] = set[0]!.split('=');
      const body = { [attribute]: texts.join('=') };
      const lines = (value: unknown): string[] => [...labelled(value), `Set ${attribute} succeeded.`];
      return work(call, { method: 'PUT', at: path('nodes', range, 'energy'), body }, { lines });
    }
    const named = words.filter((word) => word !== 'all');
    const at = path('nodes', range, 'energy', ...(named.length > 0 ? [named.join(',')] : []));
    return work(call, { method: 'GET', at }, { lines: labelled });
  },
});
