import { type NodeResult, perNode, selectNodes } from './command.ts';

/** The nodes behind a chassis or management module. Each is told as an object of its own. */
export const rscan = perNode<{ readonly range: string }>({
  name: 'rscan',
  select: selectNodes,
  async *run(snapshot, _args, { hardware, selection, caller }, signal): AsyncIterable<NodeResult> {
    const results = hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rscan',
        needs: 'subnodes',
        user: caller.user,
        run: (subnodes, _node, aborted) => subnodes.list(aborted),
      },
      signal,
    );
    const told = new Set<string>();
    for await (const result of results) {
      if ('error' in result) yield result;
      else {
        for (const [name, value] of Object.entries(result.value)) {
          // Two chassis may have children of one name.
          const node = told.has(name) ? `${result.node}-${name}` : name;
          told.add(node);
          yield { node, value };
        }
      }
    }
  },
});
