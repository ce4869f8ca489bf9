import { Type } from 'typebox';
import type { UpdateState } from '../core/effects.ts';
import { unlessFault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import {
  actingUser,
  NodeUpdate,
  parsePostscript,
  planUpdate,
  type Postscript,
  type RemoteNode,
  type UpdateJob,
  type UpdateSteps,
  updateRoots,
  type UpdateTarget,
} from '../nodes/index.ts';
import { type Arguments, nodeArguments, selectNodes } from './command.ts';
import { nodeAddress, perNode, type Plan, sshOnWorkers, type Task } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  files: Type.Boolean(),
  synclist: Type.Optional(
    Type.String({ description: 'a list of files on the management node, instead of those of the images' }),
  ),
  software: Type.Boolean(),
  scripts: Type.Optional(
    Type.Array(Type.String(), {
      description: 'scripts with their arguments; none: those of each node; absent: none are run',
    }),
  ),
});

export type UpdatenodeArgs = Arguments<typeof args>;

/** The argument line; all three steps are what the command does by default. */
function updateLine({ files, synclist, software, scripts }: UpdatenodeArgs): string[] {
  if (files && software && scripts?.length === 0) return [];
  const scriptWords = scripts ? ['-P', ...(scripts.length > 0 ? [scripts.join(',')] : [])] : [];
  return [
    ...(files ? ['-F', ...(synclist === undefined ? [] : [synclist])] : []),
    ...(software ? ['-S'] : []),
    ...scriptWords,
  ];
}

export const updatenode = perNode({
  name: 'updatenode',
  args,
  uses: ['remote'],
  line: updateLine,
  outlivesClient: () => true,
  select: selectNodes,
  prepare(snapshot, given, { remote, caller, selection }): Plan<UpdateJob, UpdateTarget> {
    const nodes = selection.nodes ?? [];
    const lineAs = (user: string | undefined): string =>
      [...(user === undefined ? [] : ['-l', user]), ...updateLine(given)].join(' ');
    const user = actingUser(snapshot, { ...caller, command: 'updatenode', nodes }, undefined, lineAs);
    return {
      ...planUpdate({ remote, snapshot, user, nodes, steps: stepsOf(given), everywhere: caller.hasFullRights() }),
      width: remote.fanOut,
    };
  },
  sentTo({ to, scripts, lists }: UpdateTarget, { lists: found }: UpdateJob) {
    unlessFault(scripts);
    for (const path of lists) unlessFault(found[path]!);
    return nodeAddress(to);
  },
  onWorkers: { ...sshOnWorkers(['update']), files: (job: UpdateJob) => ({ roots: updateRoots(job) }) },
  // Who is cancelled before its turn came has had nothing done, and its state stays what it is.
  work: (job: UpdateJob, target: UpdateTarget, task) =>
    task.remote.update(target.to, task, (remote) =>
      updateOne(new NodeUpdate(job, target, task.node, task.files), remote, task, job.tellsState),
    ),
});

function stepsOf({ files, synclist, software, scripts }: UpdatenodeArgs): UpdateSteps {
  const named = scripts?.map((text): Postscript => parsePostscript(text));
  return { files, synclist, software, scripts: named?.length === 0 ? 'all' : named };
}

async function updateOne(update: NodeUpdate, remote: RemoteNode, task: Task, tellsState: boolean): Promise<NodeResult> {
  const { node } = task;
  const doesSomething = tellsState && (await update.doesSomething());
  // The state of a node on which nothing is done stays what it was.
  const note = (state: UpdateState): void => {
    if (doesSomething) task.report({ kind: 'update', state });
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
