import { Fault } from '../core/errors.ts';
import type { VitalsKind } from '../drivers/capabilities.ts';
import { perNode, selectNodes } from './command.ts';

const kinds: readonly string[] = [
  'temp',
  'voltage',
  'wattage',
  'fanspeed',
  'power',
  'leds',
  'chassis',
  'energy',
  'altitude',
];

export interface RvitalsArgs {
  readonly range: string;
  /** Empty or `all`: everything. */
  readonly kinds: readonly string[];
}

export const rvitals = perNode<RvitalsArgs>({
  name: 'rvitals',
  select(snapshot, args, services) {
    const unknown = args.kinds.find((kind) => kind !== 'all' && !kinds.includes(kind));
    if (unknown !== undefined)
      throw new Fault('invalid', `"${unknown}" is not a kind of vitals; known are all, ${kinds.join(', ')}.`);
    return selectNodes(snapshot, args, services);
  },
  run(snapshot, args, { hardware, selection, caller }, signal) {
    const wanted = args.kinds.includes('all') ? [] : (args.kinds as readonly VitalsKind[]);
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rvitals',
        needs: 'vitals',
        user: caller.user,
        run: (vitals, _node, aborted) => vitals.read(wanted, aborted),
      },
      signal,
    );
  },
});
