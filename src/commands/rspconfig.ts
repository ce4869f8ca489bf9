import { type NodeValue, perNode, selectNodes } from './command.ts';

export interface RspconfigArgs {
  readonly range: string;
  /** The attribute to read, unless there is something to set. */
  readonly attribute: string;
  readonly set?: Readonly<Record<string, string>>;
  readonly refuseEmpty?: boolean;
}

export const rspconfig = perNode<RspconfigArgs>({
  name: 'rspconfig',
  outlivesClient: ({ set }) => set !== undefined,
  select: selectNodes,
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
          await processor.set(set, aborted);
          return {};
        },
      },
      signal,
    );
  },
});
