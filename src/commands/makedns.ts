import { act, everyNode, selectNodes } from './command.ts';

export interface MakednsArgs {
  /** Undefined: the service itself is set up. */
  readonly range: string | undefined;
  readonly refuseEmpty?: boolean;
  readonly remove?: boolean;
}

export const makedns = act<MakednsArgs>({
  name: 'makedns',
  select: (snapshot, { range, refuseEmpty = false }, services) =>
    range === undefined ? everyNode : selectNodes(snapshot, { range, refuseEmpty }, services),
  async run(snapshot, { range, remove }, { dns, selection }) {
    const nodes = selection.nodes ?? [];
    if (range === undefined) return { shape: 'none', messages: await dns.setUp(snapshot) };
    return { shape: 'none', messages: await (remove ? dns.remove(snapshot, nodes) : dns.add(snapshot, nodes)) };
  },
});
