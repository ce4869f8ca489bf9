import { setImmediate as pause } from 'node:timers/promises';
import { asTheyCome } from '../core/as-they-come.ts';
import type { NodeStatus, UpdateState } from '../services/node-status.ts';
import { actingUser } from '../services/remote/acting-user.ts';
import { NodeOutput } from '../services/remote/node-output.ts';
import { failed, nodeFailure } from '../services/remote/node-failure.ts';
import { type Postscript, parsePostscript } from '../services/update/postscripts.ts';
import { Updates, type UpdateSteps } from '../services/update/updates.ts';
import { type NodeResult, perNode, selectNodes } from './command.ts';

export interface UpdatenodeArgs {
  readonly range: string;
  readonly refuseEmpty?: boolean;
  readonly files: boolean;
  readonly software: boolean;
  /** Scripts with their arguments; none: those of each node. Undefined: no scripts are run. */
  readonly scripts: readonly string[] | undefined;
}

/** The argument line; all three steps are what the command does when told nothing. */
export function updateLine({ files, software, scripts }: Omit<UpdatenodeArgs, 'range' | 'refuseEmpty'>): string {
  if (files && software && scripts?.length === 0) return '';
  const words = [...(files ? ['-F'] : []), ...(software ? ['-S'] : []), ...(scripts ? ['-P', scripts.join(',')] : [])];
  return words.join(' ').trim();
}

export const updatenode = perNode<UpdatenodeArgs>({
  name: 'updatenode',
  outlivesClient: () => true,
  select: selectNodes,
  // What is refused is refused here, before the first result.
  run(snapshot, args, { remote, status, caller, selection }, signal): AsyncIterable<NodeResult> {
    const nodes = selection.nodes ?? [];
    const lineAs = (user: string | undefined): string =>
      `${user === undefined ? '' : `-l ${user} `}${updateLine(args)}`.trim();
    const user = actingUser(snapshot, { ...caller, command: 'updatenode', nodes }, undefined, lineAs);
    const updates = new Updates({ remote, snapshot, user, nodes, steps: stepsOf(args), signal });
    const takeTurn = (node: string) =>
      remote.updateTurns.take(node, signal, () =>
        remote.places.take(caller.user, signal, () => updateOne(updates, status, node)),
      );
    // Who is cancelled before its turn came has had nothing done, and its state stays what it is.
    const update = (node: string): Promise<NodeResult> => takeTurn(node).catch(failed(node));
    return updateAll(updates, status, asTheyCome(nodes, remote.fanOut, update));
  },
});

function stepsOf({ files, software, scripts }: UpdatenodeArgs): UpdateSteps {
  const named = scripts?.map((text): Postscript => parsePostscript(text));
  return { files, software, scripts: named?.length === 0 ? 'all' : named };
}

async function* updateAll(
  updates: Updates,
  status: NodeStatus,
  results: AsyncIterable<NodeResult>,
): AsyncIterable<NodeResult> {
  try {
    yield* results;
  } finally {
    await updates.close();
    await status.flush();
  }
}

async function updateOne(updates: Updates, status: NodeStatus, node: string): Promise<NodeResult> {
  // Thousands of nodes that get nothing are done without waiting for anything.
  await pause();
  const isConcerned = await updates.concerns(node);
  // The state of a node on which nothing is done stays what it was.
  const note = (state: UpdateState): void => {
    if (isConcerned) status.noteUpdate(node, state);
  };
  note('syncing');
  let state: UpdateState = 'failed';
  try {
    const { lines, ok, fault } = await updates.update(node);
    if (ok) state = 'synced';
    if (!fault) return { node, value: lines };
    return { ...nodeFailure(node, fault), output: new NodeOutput({ stdout: '', stderr: '', notes: lines }) };
  } finally {
    note(state);
  }
}
