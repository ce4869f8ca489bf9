import type { NodeResult, NodeValue } from '../core/results.ts';
import { byText } from '../database/sorted-map.ts';
import { onHardware, perNode } from './per-node.ts';

/** A node behind a node. */
interface Member {
  readonly holder: string;
  readonly name: string;
  readonly value: NodeValue;
}

/** The nodes behind a chassis, one object each: sent at once if its name can be no other's, else when all have answered. */
export const rscan = perNode({
  ...onHardware('rscan', 'subnodes', {}, async (subnodes, _args, { signal }) => ({
    members: await subnodes.list(signal),
    areMachines: subnodes.areMachines === true,
  })),
  // What is behind a node need not be a node, so its results are checked by no schema of results.
  onWorkers: undefined,
  line: () => ['-z'],
  async *finish(results, _args, { selection, snapshot, permits }): AsyncIterable<readonly NodeResult[]> {
    // Of the machines of a hypervisor only those are shown that the rules cover; one that is no node by rules without a noderange.
    const isCovered = (name: string): boolean => permits(snapshot.get('nodelist', name) ? { nodes: [name] } : {});
    const related = relatedNames(selection.nodes ?? []);
    const sent = new Set<string>();
    const pending: Member[] = [];
    for await (const batch of results) {
      yield batch.flatMap((result) => {
        if (!('value' in result)) return result;
        const holder = result.node;
        const { members, areMachines } = result.value;
        return Object.entries(members).flatMap(([name, value]): NodeResult | [] => {
          if (areMachines && !isCovered(name)) return [];
          if (!related.has(holder) && name.startsWith(`${holder}-`)) {
            sent.add(name);
            return { node: name, value };
          }
          pending.push({ holder, name, value });
          return [];
        });
      });
    }
    yield [...distinctlyNamed(pending, sent)];
  },
});

/** Those whose name is the beginning of another's up to a dash, and those others: what is behind them may get the same name. */
function relatedNames(nodes: readonly string[]): ReadonlySet<string> {
  const all = new Set(nodes);
  const related = new Set<string>();
  for (const node of nodes) {
    for (let dash = node.indexOf('-'); dash > 0; dash = node.indexOf('-', dash + 1)) {
      const beginning = node.slice(0, dash);
      if (all.has(beginning)) related.add(beginning).add(node);
    }
  }
  return related;
}

/** A name that several have gets that of the holder in front, for all of them. */
function* distinctlyNamed(members: readonly Member[], sent: Set<string>): Iterable<NodeResult> {
  const count = new Map<string, number>();
  for (const { name } of members) count.set(name, (count.get(name) ?? 0) + 1);
  const inOrder = members.toSorted((a, b) => byText(a.holder, b.holder) || byText(a.name, b.name));
  for (const { holder, name, value } of inOrder) {
    const wanted = count.get(name)! > 1 || sent.has(name) ? `${holder}-${name}` : name;
    let node = wanted;
    for (let number = 2; sent.has(node); number++) node = `${wanted}-${number}`;
    sent.add(node);
    yield { node, value };
  }
}
