import { KnownNodes } from '../services/discovery/known-nodes.ts';
import { everyNode, query } from './command.ts';

/** Devices that announce themselves on the networks, as definitions that could be made of them. */
export const lsslp = query<{ readonly type: string | undefined }>({
  name: 'lsslp',
  select: () => everyNode,
  async run(snapshot, { type }, { announcements }) {
    const found = await announcements.find(type, new KnownNodes(snapshot));
    return { shape: 'objects', names: [...found.keys()], attributes: (name) => found.get(name)! };
  },
});
