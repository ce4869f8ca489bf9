import { path } from '../client.ts';
import { labelled, nodeCommand, refuseByKind, refuseForEach, work } from '../nodes/node-command.ts';
import { flag } from '../options.ts';

const readings = ['stat', 'state', 'status', 'bmcstate'];
const actions = ['on', 'off', 'softoff', 'boot', 'reset', 'cycle', 'nmi', 'suspend', 'wake', 'bmcreboot'];
const destructive = ['off', 'softoff', 'boot', 'reset', 'cycle', 'nmi'];

interface Outcome {
  readonly power: string;
  /** Of actions whose end does not show what was done. */
  readonly before?: string;
}

/** xCAT prints what was done, which is not always the state that came of it. */
function outcomeText(action: string, { power, before }: Outcome): string {
  if (action === 'boot') return before === 'off' ? 'on' : 'reset';
  if (action === 'softoff') return before === 'off' ? 'off' : 'softoff';
  if (action === 'reset') return power === 'off' ? 'off' : 'reset';
  return action === 'on' || action === 'off' || readings.includes(action) ? power : action;
}

export const rpower = nodeCommand({
  usage: `Usage: rpower NODERANGE ACTION

  stat, state, status   the power state
  on, off               switch
  softoff               ask the operating system to shut down
  boot                  reset what is on, switch on what is off
  reset, cycle          restart, without and with a power cut
  nmi, suspend, wake    if the hardware can
  bmcreboot, bmcstate   restart the BMC, or show its state (OpenBMC only)`,
  options: { q: flag('accepted for scripts; changes nothing'), 'verbose|V': 'flag' },
  words: Number.POSITIVE_INFINITY,
  run(call) {
    const { range, words } = call;
    const [action] = call.has('verbose') ? ['-V'] : words;
    if (action === undefined)
      return refuseByKind(call, (mgt) => `Please enter an action (eg: boot,off,on, etc) when using mgt=${mgt}.`);
    if (![...readings, ...actions].includes(action))
      return refuseByKind(call, (mgt) => `Error: Unsupported command: rpower ${action} when using mgt=${mgt}.`);
    const reads = readings.includes(action);
    // Behind what only reads, scripts may have more words.
    if (words.length > 1 && !reads)
      return refuseByKind(
        call,
        (mgt) => `Error: Unsupported command: rpower ${words.join(' ')} when using mgt=${mgt}.`,
      );
    const at = path('nodes', range, 'power');
    const lines = (value: unknown): string[] => [outcomeText(action, value as Outcome)];
    if (reads && action !== 'bmcstate') return work(call, { method: 'GET', at }, { lines });
    return work(
      call,
      { method: 'PUT', at, body: { action } },
      { lines, ...(destructive.includes(action) ? { question: `rpower ${action} on` } : {}) },
    );
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
    if (order === 'stat') return work(call, { method: 'GET', at }, { lines });
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
      if (words.length > 1) return refuseForEach(call, () => ({ error: 'Set one attribute at a time.' }));
      const [attribute = '', ...value] = set[0]!.split('=');
      const body = { [attribute]: value.join('=') };
      return work(call, { method: 'PUT', at: path('nodes', range, 'energy'), body }, { lines: labelled });
    }
    const named = words.filter((word) => word !== 'all');
    const at = path('nodes', range, 'energy', ...(named.length > 0 ? [named.join(',')] : []));
    return work(call, { method: 'GET', at }, { lines: labelled });
  },
});
