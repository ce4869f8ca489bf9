import { act, noSelection, selectNodes } from './command.ts';

export interface MakedhcpArgs {
  /** Undefined: the service itself is set up. */
  readonly range: string | undefined;
  readonly refuseEmpty?: boolean;
  readonly remove?: boolean;
}

export const makedhcp = act<MakedhcpArgs>({
  name: 'makedhcp',
  select: (snapshot, { range, refuseEmpty = false }, services) =>
    range === undefined ? noSelection : selectNodes(snapshot, { range, refuseEmpty }, services),
  async run(snapshot, { range, remove }, { dhcp, selection, run, caller: { user, client } }) {
    if (range === undefined) return { shape: 'none', messages: await dhcp.configure(snapshot) };
    const origin = { user, client, command: 'makedhcp', run };
    const nodes = selection.nodes ?? [];
    if (!remove) return { shape: 'none', messages: await dhcp.reserve(snapshot, nodes, origin) };
    await dhcp.release(nodes, origin);
    return { shape: 'none' };
  },
});
