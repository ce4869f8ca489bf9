import type { ConnectedWorker, Workers } from '../bus/index.ts';
import { cachedBy } from '../core/cache.ts';
import { listItems } from '../core/list-items.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { effectiveReader } from '../objects/effective.ts';
import { allNodes } from '../objects/groups.ts';
import { managementNode } from '../objects/networks.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';

type Find = (node: string, except?: ReadonlySet<string>) => ConnectedWorker | undefined;

/** Finds who works on nodes: the first of a node's service nodes that is a connected worker; undefined is this server. */
export function workerFinder(workers: Workers, snapshot: Snapshot): Find {
  const reader = effectiveReader(snapshot);
  const first = firstConnected(workers, snapshot);
  return (node, except) => first(nodeAttribute(reader, node, 'servicenode') ?? '', node, except);
}

function firstConnected(workers: Workers, snapshot: Snapshot) {
  const here = managementNode(snapshot);
  return (list: string, node: string, except?: ReadonlySet<string>): ConnectedWorker | undefined => {
    for (const name of listItems(list)) {
      if (here.isMeantBy(name)) return undefined;
      // A worker that switches itself off answers nobody.
      const worker = name === node || except?.has(name) ? undefined : workers.connected(name);
      if (worker) return worker;
    }
    return undefined;
  };
}

/** Nodes by their lists of service nodes; most nodes share one. */
const listsIn = cachedBy((snapshot: Snapshot): ReadonlyMap<string, number> => {
  const reader = effectiveReader(snapshot);
  const lists = new Map<string, number>();
  for (const node of allNodes(snapshot)) {
    const list = nodeAttribute(reader, node, 'servicenode') ?? '';
    lists.set(list, (lists.get(list) ?? 0) + 1);
  }
  return lists;
});

/** How many nodes each worker would work on now; under the empty name those of this server. */
export function assignedNodes(workers: Workers | undefined, snapshot: Snapshot): ReadonlyMap<string, number> {
  const first = workers && firstConnected(workers, snapshot);
  const assigned = new Map<string, number>();
  for (const [list, count] of listsIn(snapshot)) {
    const name = first?.(list, '')?.name ?? '';
    assigned.set(name, (assigned.get(name) ?? 0) + count);
  }
  return assigned;
}
