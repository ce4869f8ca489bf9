import { type NodeValue, perNode, selectNodes } from './command.ts';

export interface ReventlogArgs {
  readonly range: string;
  readonly clear: boolean;
  readonly refuseEmpty?: boolean;
}

export const reventlog = perNode<ReventlogArgs>({
  name: 'reventlog',
  outlivesClient: ({ clear }) => clear,
  select: selectNodes,
  run(snapshot, { clear }, { hardware, selection, caller }, signal) {
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'reventlog',
        needs: 'eventLog',
        user: caller.user,
        async run(log, _node, aborted): Promise<NodeValue> {
          if (!clear) return { eventlog: await log.read(aborted) };
          await log.clear(aborted);
          return {};
        },
      },
      signal,
    );
  },
});
