import { Fault } from '../core/errors.ts';
import type { PowerAction } from '../drivers/capabilities.ts';
import { type NodeResult, perNode, selectNodes } from './command.ts';

const actions: readonly PowerAction[] = ['on', 'off', 'softoff', 'reset', 'boot', 'cycle', 'nmi', 'wake', 'suspend'];
const readings: readonly string[] = ['stat', 'state', 'status'];

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
    if (!readings.includes(args.action) && !actions.includes(args.action as PowerAction)) {
      throw new Fault(
        'invalid',
        `"${args.action}" is not a power action; known are ${[...actions, ...readings].join(', ')}.`,
      );
    }
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
        run: (power, _node, aborted) => (reading ? power.state(aborted) : power.set(action as PowerAction, aborted)),
      },
      signal,
    );
    // Results are kept for a day; nodes in the same state share what says so.
    const values = new Map<string, { power: string }>();
    for await (const result of results) {
      if ('error' in result) yield result;
      else {
        const after = reading ? undefined : statusAfter[action as PowerAction];
        // A reset of a node that is off did nothing.
        if (after && !(after === 'powering-on' && result.value === 'off')) status.note(result.node, after);
        let value = values.get(result.value);
        if (!value) values.set(result.value, (value = { power: result.value }));
        yield { node: result.node, value };
      }
    }
  },
});
