import type { UpdateState } from '../core/effects.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import { actingUser } from '../services/remote/acting-user.ts';
import type { RemoteNode } from '../services/remote/remote-node.ts';
import { planUpdate, type UpdateJob, type UpdateSteps, type UpdateTarget } from '../services/update/plan-update.ts';
import { type Postscript, parsePostscript } from '../services/update/postscripts.ts';
import { NodeUpdate } from '../services/update/update-node.ts';
import { type RangeArgs, selectNodes } from './command.ts';
import { perNode, type Task } from './per-node.ts';

export interface UpdatenodeArgs extends RangeArgs {
  readonly files: boolean;
  readonly software: boolean;
  /** Scripts with their arguments; none: those of each node. Undefined: no scripts are run. */
  readonly scripts: readonly string[] | undefined;
}

/** The argument line; all three steps are what the command does when told nothing. */
export function updateLine({ files, software, scripts }: Omit<UpdatenodeArgs, keyof RangeArgs>): string {
  if (files && software && scripts?.length === 0) return '';
  const words = [...(files ? ['-F'] : []), ...(software ? ['-S'] : []), ...(scripts ? ['-P', scripts.join(',')] : [])];
  return words.join(' ').trim();
}

export const updatenode = perNode<UpdatenodeArgs, UpdateJob, UpdateTarget>({
  name: 'updatenode',
  outlivesClient: () => true,
  select: selectNodes,
  prepare(snapshot, args, { remote, caller, selection }) {
    const nodes = selection.nodes ?? [];
    const lineAs = (user: string | undefined): string =>
      `${user === undefined ? '' : `-l ${user} `}${updateLine(args)}`.trim();
    const user = actingUser(snapshot, { ...caller, command: 'updatenode', nodes }, undefined, lineAs);
    return { ...planUpdate({ remote, snapshot, user, nodes, steps: stepsOf(args) }), width: remote.fanOut };
  },
  // Who is cancelled before its turn came has had nothing done, and its state stays what it is.
  work: (job, target, task) =>
    task.remote.update(target.to, task, (remote) =>
      updateOne(new NodeUpdate(job, target, task.node, task.files), remote, task),
    ),
});

function stepsOf({ files, software, scripts }: UpdatenodeArgs): UpdateSteps {
  const named = scripts?.map((text): Postscript => parsePostscript(text));
  return { files, software, scripts: named?.length === 0 ? 'all' : named };
}

async function updateOne(update: NodeUpdate, remote: RemoteNode, task: Task): Promise<NodeResult> {
  const { node } = task;
  const doesSomething = await update.doesSomething();
  // The state of a node on which nothing is done stays what it was.
  const note = (state: UpdateState): void => {
    if (doesSomething) task.tell({ kind: 'update', state });
  };
  note('syncing');
  let state: UpdateState = 'failed';
  try {
    const { lines, ok, fault } = await update.carryOut(remote);
    if (ok) state = 'synced';
    if (!fault) return { node, value: lines };
    return {
      ...nodeFailure(node, fault),
      output: { stdout: '', stderr: '', ...(lines.length > 0 ? { notes: lines } : {}) },
    };
  } finally {
    note(state);
  }
}
