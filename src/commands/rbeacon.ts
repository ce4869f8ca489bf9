import { Fault } from '../core/errors.ts';
import { type RangeArgs, selectNodes } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

const actions = ['on', 'off', 'blink'] as const;
type Action = (typeof actions)[number];

export interface RbeaconArgs extends RangeArgs {
  /** `stat` reads. */
  readonly action: string;
}

export const rbeacon = perNode({
  ...onHardware('rbeacon', 'beacon', async (beacon, { action }: RbeaconArgs, { signal }) => {
    if (action !== 'stat') {
      await beacon.set(action as Action, signal);
      return { beacon: action };
    }
    if (!beacon.state) throw new Fault('invalid', 'its service processor does not tell the state of its beacon.');
    return { beacon: await beacon.state(signal) };
  }),
  outlivesClient: ({ action }) => action !== 'stat',
  select(snapshot, args, services) {
    if (args.action !== 'stat' && !actions.includes(args.action as Action)) {
      throw new Fault('invalid', `"${args.action}" is not a beacon action; known are ${actions.join(', ')}, stat.`);
    }
    return selectNodes(snapshot, args, services);
  },
});
