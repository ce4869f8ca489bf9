import type { TSchema } from 'typebox';
import type { Interruptible } from '../core/slices.ts';
import type { NodeResult, NodeValue } from '../core/results.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Arguments, CommandBase, Declared, Scope, ServiceName } from './command.ts';
import type { FinishScope, SentTo, Task } from './per-node.ts';

/**
 * A change of nodes, each of which may fail alone, and what follows once it is committed: what daemons and nodes get to know of it.
 * The change itself is checked, tried and journalled as every change is; the results come node by node.
 */
export interface NodeChange<
  Args,
  Held = unknown,
  Target = unknown,
  Value = NodeValue,
  Uses extends ServiceName = ServiceName,
> extends CommandBase<Args, Uses> {
  readonly kind: 'change';
  /** Tables that the right to run it on a node is a right to: that it changes them there needs no rule that says so. */
  readonly decides: readonly string[];
  /** Takes what the nodes need before anything is written. A dry run takes nothing and only says what is in the way. */
  prepare?(snapshot: Snapshot, args: Args, scope: Scope<Uses>, isDryRun: boolean): Promise<Held>;
  /** Gives it back, whatever came of it. */
  release?(held: Held, scope: Scope<Uses>): Promise<void>;
  /** One result for each node; those with an error are left as they are. Called again if another change came first. */
  plan(draft: Draft, args: Args, scope: Scope<Uses>, held: Held): Interruptible<readonly NodeResult[]>;
  /** What follows on the nodes once it is committed; `again` has `work` done on some of them. */
  after(
    planned: readonly NodeResult[],
    args: Args,
    scope: FinishScope<object, Target, Value, Uses>,
    held: Held,
  ): AsyncIterable<readonly NodeResult[]>;
  work?(shared: object, target: Target, task: Task): Promise<NodeResult<Value>>;
  /** Whom `work` on a node would be sent to. */
  sentTo?(held: Held, node: string): SentTo;
}

/** One whose data only it itself understands. */
export type AnyNodeChange<Args = unknown> = NodeChange<Args, unknown, unknown, unknown>;

export const nodeChange = <
  S extends TSchema,
  Held = undefined,
  Target = unknown,
  Value = NodeValue,
  Uses extends ServiceName = never,
>(
  command: Declared<NodeChange<Arguments<S>, Held, Target, Value, Uses>, S, Uses>,
): NodeChange<Arguments<S>, Held, Target, Value, Uses> => ({ kind: 'change', ...command });
