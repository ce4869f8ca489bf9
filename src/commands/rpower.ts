import { Fault } from '../core/errors.ts';
import type { Power, PowerAction } from '../drivers/capabilities.ts';
import { type NodeResult, perNode, selectNodes } from './command.ts';

const actions: readonly PowerAction[] = ['on', 'off', 'softoff', 'reset', 'boot', 'cycle', 'nmi', 'wake', 'suspend'];
const readings: readonly string[] = ['stat', 'state', 'status', 'bmcstate'];
/** For the service processor itself. */
const restart = 'bmcreboot';
const known: readonly string[] = [...actions, ...readings, restart];

export interface RpowerArgs {
  readonly range: string;
  readonly action: string;
  readonly refuseEmpty?: boolean;
}

/** What a node is doing once the action was carried out. */
const statusAfter: Readonly<Partial<Record<PowerAction, string>>> = {
  on: 'powering-on',
  boot: 'powering-on',
  reset: 'powering-on',
  cycle: 'powering-on',
  off: 'powering-off',
  softoff: 'powering-off',
};

export const rpower = perNode<RpowerArgs>({
  name: 'rpower',
  outlivesClient: ({ action }) => !readings.includes(action),
  select(snapshot, args, services) {
    if (!known.includes(args.action))
      throw new Fault('invalid', `"${args.action}" is not a power action; known are ${known.join(', ')}.`);
    return selectNodes(snapshot, args, services);
  },
  async *run(snapshot, { action }, { hardware, status, selection, caller }, signal): AsyncIterable<NodeResult> {
    const reading = readings.includes(action);
    const results = hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rpower',
        needs: 'power',
        user: caller.user,
        run: (power, _node, aborted) => carryOut(power, action, aborted),
      },
      signal,
    );
    // Results are kept for a day; nodes in the same state share what says so.
    const values = new Map<string, { power: string }>();
    let noted = false;
    for await (const result of results) {
      if ('error' in result) yield result;
      else {
        const after = reading ? undefined : statusAfter[action as PowerAction];
        // A reset of a node that is off did nothing.
        if (after && !(after === 'powering-on' && result.value === 'off')) {
          status.note(result.node, after);
          noted = true;
        }
        let value = values.get(result.value);
        if (!value) values.set(result.value, (value = { power: result.value }));
        yield { node: result.node, value };
      }
    }
    // Whoever reads the status behind the reply sees it.
    if (noted) await status.flush();
  },
});

function carryOut(power: Power, action: string, signal: AbortSignal): Promise<string> {
  if (action === restart || action === 'bmcstate') {
    const { controller } = power;
    if (!controller) throw new Fault('invalid', `${action} is not possible with its kind of hardware.`);
    return action === restart ? controller.restart(signal) : controller.state(signal);
  }
  return readings.includes(action) ? power.state(signal) : power.set(action as PowerAction, signal);
}
