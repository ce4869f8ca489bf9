import { Fault } from '../core/errors.ts';
import type { BootOrder } from '../drivers/capabilities.ts';
import { type RangeArgs, selectNodes } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

const orders: Readonly<Record<string, BootOrder>> = {
  net: 'net',
  hd: 'hd',
  cd: 'cd',
  floppy: 'floppy',
  def: 'def',
  default: 'def',
  setup: 'setup',
};

export interface RsetbootArgs extends RangeArgs {
  /** `stat` reads. */
  readonly order: string;
  readonly persistent?: boolean;
  readonly mode?: 'uefi' | 'legacy' | undefined;
}

export const rsetboot = perNode({
  ...onHardware('rsetboot', 'nextBoot', async (boot, args: RsetbootArgs, { signal }) => {
    const { order, persistent = false, mode } = args;
    const wanted = orders[order];
    return { nextboot: await (wanted ? boot.set(wanted, { persistent, mode }, signal) : boot.get(signal)) };
  }),
  outlivesClient: ({ order }) => order !== 'stat',
  select(snapshot, args, services) {
    if (args.order !== 'stat' && !Object.hasOwn(orders, args.order)) {
      throw new Fault(
        'invalid',
        `"${args.order}" is not a boot order; known are ${Object.keys(orders).join(', ')}, stat.`,
      );
    }
    return selectNodes(snapshot, args, services);
  },
});
