import type { RangeArgs } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

export interface RenergyArgs extends RangeArgs {
  /** The attributes to read; empty or `all`: everything. */
  readonly attributes: readonly string[];
  readonly set?: { readonly attribute: string; readonly value: string };
}

export const renergy = perNode({
  ...onHardware('renergy', 'energy', async (energy, { attributes, set }: RenergyArgs, { signal }) => {
    if (!set) return energy.read(attributes.includes('all') ? [] : attributes, signal);
    await energy.set(set.attribute, set.value, signal);
    return {};
  }),
  outlivesClient: ({ set }) => set !== undefined,
});
