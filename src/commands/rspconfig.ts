import { Fault } from '../core/errors.ts';
import { type NodeValue, perNode, selectNodes } from './command.ts';

export interface RspconfigArgs {
  readonly range: string;
  /** The attribute to read, unless there is something to set. */
  readonly attribute: string;
  readonly set?: Readonly<Record<string, string>>;
  readonly refuseEmpty?: boolean;
}

const newAddress = ({ set }: Pick<RspconfigArgs, 'set'>): string | undefined =>
  set?.['ip'] === 'dhcp' ? undefined : set?.['ip'];

export const rspconfig = perNode<RspconfigArgs>({
  name: 'rspconfig',
  outlivesClient: ({ set }) => set !== undefined,
  select(snapshot, args, services) {
    const selection = selectNodes(snapshot, args, services);
    const address = newAddress(args);
    if (address !== undefined && selection.nodes!.length > 1) {
      const count = selection.nodes!.length;
      throw new Fault('invalid', `${address} cannot be the address of ${count} service processors; name one node.`);
    }
    return selection;
  },
  run(snapshot, { attribute, set }, { hardware, selection, caller }, signal) {
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rspconfig',
        needs: 'serviceProcessor',
        user: caller.user,
        async run(processor, _node, aborted): Promise<NodeValue> {
          if (!set) return processor.get(attribute, aborted);
          const address = newAddress({ set });
          // The account is shown at the new address, to see whether the service processor is there.
          if (address !== undefined) await hardware.admit(address);
          await processor.set(set, aborted);
          return {};
        },
      },
      signal,
    );
  },
});
