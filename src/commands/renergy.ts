import { type NodeValue, perNode, selectNodes } from './command.ts';

export interface RenergyArgs {
  readonly range: string;
  /** The attributes to read; empty or `all`: everything. */
  readonly attributes: readonly string[];
  readonly set?: { readonly attribute: string; readonly value: string };
  readonly refuseEmpty?: boolean;
}

export const renergy = perNode<RenergyArgs>({
  name: 'renergy',
  outlivesClient: ({ set }) => set !== undefined,
  select: selectNodes,
  run(snapshot, { attributes, set }, { hardware, selection, caller }, signal) {
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'renergy',
        needs: 'energy',
        user: caller.user,
        async run(energy, _node, aborted): Promise<NodeValue> {
          if (!set) return energy.read(attributes.includes('all') ? [] : attributes, aborted);
          await energy.set(set.attribute, set.value, aborted);
          return {};
        },
      },
      signal,
    );
  },
});
