import type { AnyPerNode, Plan } from '../commands/per-node.ts';
import { Fault } from '../core/errors.ts';
import { type NodeFailure, nodeFailure } from '../core/results.ts';

/** A command on nodes as plain JSON data, for a process that gets nothing else. Its secrets are open: it goes into no log. */
export interface Job {
  readonly command: string;
  /** Who asked for it. */
  readonly user: string;
  readonly shared: unknown;
  /** By node. */
  readonly targets: Readonly<Record<string, unknown>>;
  readonly width?: number | undefined;
  readonly burst?: number | undefined;
}

/** The job of these nodes, and the nodes that fail without any work. */
export async function jobOf(
  { name }: Pick<AnyPerNode, 'name'>,
  user: string,
  nodes: readonly string[],
  plan: Plan<unknown, unknown>,
): Promise<{ readonly job: Job; readonly failed: readonly NodeFailure[] }> {
  const targets: Record<string, unknown> = {};
  const failed: NodeFailure[] = [];
  const resolve = async (node: string): Promise<void> => {
    try {
      targets[node] = await plan.target(node);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      failed.push(nodeFailure(node, error));
    }
  };
  await Promise.all(nodes.map(resolve));
  const { shared, width, burst } = plan;
  return { job: { command: name, user, shared, targets, width, burst }, failed };
}

/** What a job asks for. */
export const planOf = ({ shared, targets, width, burst }: Job): Plan<unknown, unknown> => ({
  shared,
  target: (node) => targets[node],
  width,
  burst,
});
