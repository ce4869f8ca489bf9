import type { PerNode, Plan, Task, WorkerServices } from '../commands/per-node.ts';
import { asTheyCome } from '../core/as-they-come.ts';
import type { Effect } from '../core/effects.ts';
import { Fault } from '../core/errors.ts';
import { type NodeFailure, nodeFailure, type NodeResult, type PassOn } from '../core/results.ts';
import type { Room } from '../protocols/ssh/collected.ts';
import type { LocalFiles } from '../nodes/index.ts';

/** A process that works on nodes: this one, or one without a database. */
export interface Workplace {
  readonly workerServices: WorkerServices;
  readonly files: LocalFiles;
  readonly signal: AbortSignal;
  /** Room for output that is kept; absent: what a node may have is all that counts. */
  room?(): Room;
  /** Who takes output that is more than can be kept, if anybody does. */
  passOn?(): PassOn | undefined;
  /** Waited for before something is changed on a node; absent: nobody has to agree. */
  goAhead?(node: string): Promise<void>;
  /** Hands an effect to whoever keeps it. The result waits for what is promised, and gets the sentence that may come of it. */
  report(node: string, effect: Effect): Promise<string | void> | undefined;
}

/** Does the work of a plan in this process; results come as they are there. */
export function workOn<Shared, Target, Value>(
  command: Pick<PerNode<never, Shared, Target, Value>, 'name' | 'work'>,
  user: string,
  nodes: readonly string[],
  plan: Plan<Shared, Target>,
  { workerServices, files, room, passOn, signal, goAhead, report }: Workplace,
): AsyncIterable<readonly NodeResult<Value>[]> {
  const common = { ...workerServices, command: command.name, user, signal, files, room, passOn };
  const work = async (node: string, begun: () => void): Promise<NodeResult<Value>> => {
    let kept: Promise<string | void>[] | undefined;
    const task: Task = {
      ...common,
      node,
      begun,
      goAhead: goAhead && (() => goAhead(node)),
      report(effect) {
        const keeping = report(node, effect);
        keeping?.catch(() => undefined);
        if (keeping) (kept ??= []).push(keeping);
      },
      keep: async (effect) => void (await report(node, effect)),
    };
    let result: NodeResult<Value>;
    try {
      const target = plan.target(node);
      result = await command.work(plan.shared, target instanceof Promise ? await target : target, task);
    } catch (error) {
      result = failureOf(node, error);
    }
    return kept ? withSentences(result, kept) : result;
  };
  return asTheyCome(nodes, plan.width ?? workerServices.devices.queue, work, plan.burst);
}

function failureOf(node: string, error: unknown): NodeFailure {
  if (error instanceof Fault) return nodeFailure(node, error);
  throw error;
}

/** The result with what became of its effects. */
export async function withSentences<Value>(
  result: NodeResult<Value>,
  kept: readonly Promise<string | void>[],
): Promise<NodeResult<Value>> {
  try {
    const sentences = (await Promise.all(kept)).flatMap((sentence) => sentence ?? []);
    if (sentences.length === 0) return result;
    if ('error' in result) return { ...result, error: [result.error, ...sentences].join(' ') };
    if (!('value' in result)) return result;
    const { Message = [] } = result.value as { readonly Message?: string | readonly string[] };
    return { node: result.node, value: { ...result.value, Message: [Message, sentences].flat() } };
  } catch (error) {
    return failureOf(result.node, error);
  }
}
