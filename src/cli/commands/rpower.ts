import { path } from '../client.ts';
import { nodeCommand, refuseByKind, work } from '../nodes/node-command.ts';

const readings = ['stat', 'state', 'status', 'bmcstate'];
const actions = ['on', 'off', 'softoff', 'boot', 'reset', 'cycle', 'nmi', 'suspend', 'wake', 'bmcreboot'];
const destructive = ['off', 'softoff', 'boot', 'reset', 'cycle', 'nmi'];

interface Outcome {
  readonly power: string;
  /** Of actions whose end does not tell what was done. */
  readonly before?: string;
}

/** The reference system prints what was done, which is not always the state that came of it. */
function outcomeText(action: string, { power, before }: Outcome): string {
  if (action === 'boot') return before === 'off' ? 'on' : 'reset';
  if (action === 'softoff') return before === 'off' ? 'off' : 'softoff';
  if (action === 'reset') return power === 'off' ? 'off' : 'reset';
  return action === 'on' || action === 'off' || readings.includes(action) ? power : action;
}

export const command = nodeCommand({
  usage: `Usage: rpower NODERANGE ACTION

  stat, state, status   the power state
  on, off               switch
  softoff               ask the operating system to shut down
  boot                  reset what is on, switch on what is off
  reset, cycle          start again, without and with an interruption of power
  nmi, suspend, wake    where the hardware can
  bmcreboot, bmcstate   of OpenBMC: the service processor itself`,
  run(call) {
    const { range, words } = call;
    const [action] = words;
    if (action === undefined)
      return refuseByKind(call, (mgt) => `Please enter an action (eg: boot,off,on, etc) when using mgt=${mgt}.`);
    if (![...readings, ...actions].includes(action))
      return refuseByKind(call, (mgt) => `Error: Unsupported command: rpower ${action} when using mgt=${mgt}.`);
    const at = path('nodes', range, 'power');
    const lines = (value: unknown): string[] => [outcomeText(action, value as Outcome)];
    if (readings.includes(action) && action !== 'bmcstate') return work(call, { method: 'GET', at }, { lines });
    return work(
      call,
      { method: 'PUT', at, body: { action } },
      { lines, ...(destructive.includes(action) ? { question: `rpower ${action} on` } : {}) },
    );
  },
});
