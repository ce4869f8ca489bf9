import { Fault } from '../core/errors.ts';
import type { BootOrder } from '../drivers/capabilities.ts';
import { type NodeValue, perNode, selectNodes } from './command.ts';

const orders: Readonly<Record<string, BootOrder>> = {
  net: 'net',
  hd: 'hd',
  cd: 'cd',
  floppy: 'floppy',
  def: 'def',
  default: 'def',
  setup: 'setup',
};

export interface RsetbootArgs {
  readonly range: string;
  /** `stat` reads. */
  readonly order: string;
  readonly persistent?: boolean;
  readonly mode?: 'uefi' | 'legacy' | undefined;
  readonly refuseEmpty?: boolean;
}

export const rsetboot = perNode<RsetbootArgs>({
  name: 'rsetboot',
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
  run(snapshot, { order, persistent = false, mode }, { hardware, selection, caller }, signal) {
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rsetboot',
        needs: 'nextBoot',
        user: caller.user,
        async run(boot, _node, aborted): Promise<NodeValue> {
          const wanted = orders[order];
          return { nextboot: await (wanted ? boot.set(wanted, { persistent, mode }, aborted) : boot.get(aborted)) };
        },
      },
      signal,
    );
  },
});
