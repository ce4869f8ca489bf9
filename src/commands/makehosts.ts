import { act, everyNode, selectNodes } from './command.ts';
import type { NameOrder } from '../services/hosts/line-format.ts';

export interface MakehostsArgs {
  /** Undefined: all nodes. */
  readonly range: string | undefined;
  readonly refuseEmpty?: boolean;
  readonly remove?: boolean;
  /** Which name comes first; undefined: as the site says. */
  readonly order?: NameOrder | undefined;
  /** Writes other names with their domain too. */
  readonly longOthers?: boolean | undefined;
  /** Drops all lines but the management node's own first. */
  readonly fresh?: boolean | undefined;
}

export const makehosts = act<MakehostsArgs>({
  name: 'makehosts',
  select: (snapshot, { range, refuseEmpty = false }, services) =>
    range === undefined ? everyNode : selectNodes(snapshot, { range, refuseEmpty }, services),
  async run(snapshot, { remove, order, longOthers = false, fresh = false }, { hosts, selection }) {
    if (!remove)
      return { shape: 'none', messages: await hosts.write(snapshot, selection.nodes, { order, longOthers, fresh }) };
    await hosts.remove(snapshot, selection.nodes ?? []);
    return { shape: 'none' };
  },
});
