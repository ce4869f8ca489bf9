import { Fault } from '../core/errors.ts';
import { type NodeValue, perNode, selectNodes } from './command.ts';

const actions = ['on', 'off', 'blink'] as const;
type Action = (typeof actions)[number];

export interface RbeaconArgs {
  readonly range: string;
  /** `stat` reads. */
  readonly action: string;
  readonly refuseEmpty?: boolean;
}

export const rbeacon = perNode<RbeaconArgs>({
  name: 'rbeacon',
  outlivesClient: ({ action }) => action !== 'stat',
  select(snapshot, args, services) {
    if (args.action !== 'stat' && !actions.includes(args.action as Action)) {
      throw new Fault('invalid', `"${args.action}" is not a beacon action; known are ${actions.join(', ')}, stat.`);
    }
    return selectNodes(snapshot, args, services);
  },
  run(snapshot, { action }, { hardware, selection, caller }, signal) {
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rbeacon',
        needs: 'beacon',
        user: caller.user,
        async run(beacon, _node, aborted): Promise<NodeValue> {
          if (action !== 'stat') {
            await beacon.set(action as Action, aborted);
            return { beacon: action };
          }
          if (!beacon.state) throw new Fault('invalid', 'its service processor does not tell the state of its beacon.');
          return { beacon: await beacon.state(aborted) };
        },
      },
      signal,
    );
  },
});
