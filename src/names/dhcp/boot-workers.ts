import type { Workers } from '../../bus/index.ts';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { managementNode } from '../../objects/networks.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { ServiceNodes, serviceNodesOf } from '../../objects/service-nodes.ts';

/** A worker that a node can boot from, by its address in the network of the node. */
export interface BootWorker {
  readonly name: string;
  readonly address: string;
}

/** The workers that a node can boot from now, the one to use first; the server comes after all of them. */
export type BootWorkers = (node: string) => readonly BootWorker[];

export interface WorkersToBootFrom {
  readonly workers: Pick<Workers, 'isServing' | 'list'>;
  /** Milliseconds that a worker may be away before its nodes boot from the next. */
  readonly timeout: number;
}

/** By `servicenode`: those that serve boot files (`setuptftp`), up to the place where the server itself stands in the list. */
export function bootWorkersIn({ workers, timeout }: WorkersToBootFrom, snapshot: Snapshot): BootWorkers {
  const reader = effectiveReader(snapshot);
  const serviceNodes = new ServiceNodes(reader, undefined);
  const here = managementNode(snapshot);
  const serving = new Map<string, boolean>();
  const isServing = (name: string): boolean => {
    let is = serving.get(name);
    if (is === undefined) {
      is = nodeAttribute(reader, name, 'setuptftp') === '1' && workers.isServing(name, 'boot', timeout);
      serving.set(name, is);
    }
    return is;
  };
  return (node) => {
    const listed = serviceNodesOf(reader, node);
    const end = listed.findIndex((name) => here.isMeantBy(name));
    return (end < 0 ? listed : listed.slice(0, end)).flatMap((name) => {
      // A machine does not boot from itself.
      if (name === node || !isServing(name)) return [];
      const address = addressTowards(serviceNodes, node, name);
      return address === undefined || address.includes(':') ? [] : [{ name, address }];
    });
  };
}

/** One whose definition has a wrong value is passed over: the list of servers says so. */
function addressTowards(serviceNodes: ServiceNodes, node: string, name: string): string | undefined {
  try {
    return serviceNodes.addressTowards(node, name).address;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}
