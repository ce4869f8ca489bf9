import { Type } from 'typebox';
import type { NodeResult } from '../core/results.ts';
import {
  ampsText,
  energyText,
  onEachPdu,
  type OutletTarget,
  outletsNamed,
  outletTargets,
  shownOutlets,
  wattsText,
} from '../drivers/index.ts';
import { fedBy, outletText } from '../objects/outlets.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { perNode } from './per-node.ts';

interface ListedTarget extends OutletTarget {
  /** By outlet, the nodes that the caller may list the outlets of. */
  readonly feeds: Readonly<Record<string, readonly string[]>>;
}

/** The outlets of PDUs, or those that feed nodes, with what is measured of them. */
export const lsoutlets = perNode({
  name: 'lsoutlets',
  args: Type.Object({ ...nodeArguments }),
  line: () => [],
  uses: ['hardware'],
  select: selectNodes,
  prepare(snapshot, _args, scope) {
    const targetOf = outletTargets(snapshot, 'lsoutlets', scope.hardware, undefined);
    const seen = (fed: readonly string[]): string[] => fed.filter((node) => scope.permits({ nodes: [node] }));
    return {
      shared: {},
      async target(node): Promise<ListedTarget> {
        const target = await targetOf(node);
        const feeds = target.pdus.flatMap(({ pdu, outlets }) =>
          [...fedBy(snapshot, pdu)].flatMap(([outlet, fed]) =>
            outlets === 'all' || outlets.includes(outlet) ? [[outletText({ pdu, outlet }), seen(fed)] as const] : [],
          ),
        );
        return { ...target, feeds: Object.fromEntries(feeds) };
      },
    };
  },
  sentTo: (target: ListedTarget) => shownOutlets(target),
  async work(_shared, { pdus, feeds }: ListedTarget, task): Promise<NodeResult> {
    const value = await onEachPdu(pdus, async ({ pdu, device, outlets }) => {
      const all = await task.devices.read(device, 'outlets', task, (each) => each.list(true, task.signal));
      const found: Record<string, string | readonly string[]> = {};
      for (const { id, state, name, watts, amps, wattHours } of outletsNamed(all, outlets)) {
        const outlet = outletText({ pdu, outlet: id });
        found[outlet] = state;
        if (name !== undefined) found[`${outlet} name`] = name;
        if (watts !== undefined) found[`${outlet} power`] = wattsText(watts);
        if (amps !== undefined) found[`${outlet} current`] = ampsText(amps);
        if (wattHours !== undefined) found[`${outlet} energy`] = energyText(wattHours);
        if (feeds[outlet]?.length) found[`${outlet} feeds`] = feeds[outlet];
      }
      return found;
    });
    return { node: task.node, value };
  },
});
