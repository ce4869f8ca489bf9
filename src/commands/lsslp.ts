import { Type } from 'typebox';
import { KnownNodes } from '../services/discovery/known-nodes.ts';
import { everyNode, query } from './command.ts';

/** Devices that announce themselves on the networks, as definitions that could be made of them. */
export const lsslp = query({
  name: 'lsslp',
  args: Type.Object({ type: Type.Optional(Type.String()) }),
  uses: ['announcements'],
  line: ({ type }) => (type === undefined ? ['-z'] : ['-z', '-s', type]),
  select: () => everyNode,
  async run(snapshot, { type }, { announcements }) {
    const found = await announcements.find(type, new KnownNodes(snapshot));
    return { shape: 'objects', names: [...found.keys()], attributes: (name) => found.get(name)! };
  },
});
