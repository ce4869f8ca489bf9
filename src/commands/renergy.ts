import { Type } from 'typebox';
import { shownSettings } from '../objects/shown-arguments.ts';
import { onHardware, perNode } from './per-node.ts';

const args = {
  attributes: Type.Array(Type.String(), { description: 'those to read; none, or all: everything' }),
  set: Type.Optional(Type.Object({ attribute: Type.String(), value: Type.String() })),
};

export const renergy = perNode({
  ...onHardware('renergy', 'energy', args, async (energy, { attributes, set }, { signal }) => {
    if (!set) return energy.read(attributes.includes('all') ? [] : attributes, signal);
    await energy.set(set.attribute, set.value, signal);
    return {};
  }),
  line({ attributes, set }) {
    if (set) return shownSettings({ [set.attribute]: set.value });
    return attributes.length === 0 ? ['all'] : attributes;
  },
  outlivesClient: ({ set }) => set !== undefined,
});
