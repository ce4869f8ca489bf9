import type { ServiceName } from '../commands/command.ts';
import type { AnyNodeChange } from '../commands/node-change.ts';
import type { FinishScope } from '../commands/per-node.ts';
import type { NodeResult } from '../core/results.ts';
import { inSlices } from '../core/slices.ts';
import { type Admitted, admit, type Call } from './admit.ts';
import { commit, type Compute, planned } from './change.ts';
import { checkLoad, shownTries, workOf } from './per-node.ts';
import type { Outcome } from './request.ts';

/** Commits a change of nodes, or only tries it; what follows on the nodes begins when the first result is asked for. */
export async function runNodeChange(call: Call<AnyNodeChange>): Promise<Outcome> {
  const { services, request, run, command } = call;
  const { store, runs } = services;
  const before = store.current;
  const scope = await inSlices(admit(call, before));
  const nodes = scope.selection.nodes ?? [];
  if (!request.dryRun) checkLoad(runs, request.user, nodes.length);
  run.nodes = nodes.length;
  const held = await command.prepare?.(before, request.args, scope, request.dryRun);
  const release = async (): Promise<void> => command.release?.(held, scope);
  let results: readonly NodeResult[] = [];
  const compute = planned(call, function* (draft, inHead) {
    results = yield* command.plan(draft, request.args, inHead, held);
    return notesIn(results);
  });
  let revision: number;
  try {
    if (request.dryRun) return await tried(call, scope, compute, () => shown(command, held, results));
    revision = await commit(call, compute);
  } catch (error) {
    await release();
    throw error;
  }
  const abort = (run.abort = new AbortController());
  const snapshot = store.current;
  const work = workOf({ ...call, command: { name: command.name, work: command.work ?? noWork } }, scope);
  const following: FinishScope<object, unknown, unknown, ServiceName> = {
    ...scope,
    snapshot,
    again: work.on,
    cancelled: abort.signal,
  };
  runs.start(run, nodes);
  const followed = finallyDoing(command.after(results, request.args, following, held), release);
  return { run, revision, snapshot, answer: { shape: 'stream', ...work.noted(followed) } };
}

async function tried(
  call: Call<AnyNodeChange>,
  scope: Admitted,
  compute: Compute,
  results: () => readonly NodeResult[],
): Promise<Outcome> {
  const { head } = call.services.store;
  const { run } = call;
  const changes = await inSlices(compute(head));
  const answer = {
    shape: 'dry-run',
    changes,
    nodes: run.nodes,
    results: shownTries(call, scope, head, results()),
  } as const;
  return { run, revision: head.revision, snapshot: head, answer };
}

/** What each node would get, and whom the rest of the work would be sent to. */
const shown = ({ sentTo }: AnyNodeChange, held: unknown, results: readonly NodeResult[]): readonly NodeResult[] =>
  results.map((result) =>
    'value' in result && sentTo
      ? { node: result.node, value: Object.assign({}, result.value, sentTo(held, result.node)) }
      : result,
  );

/** Told to the caller even if the reply has no room for it. */
const mostNotes = 20;

function notesIn(results: readonly NodeResult[]): string[] {
  const notes: string[] = [];
  for (const result of results) {
    const { Message } = ('value' in result ? result.value : {}) as { readonly Message?: string };
    if (Message !== undefined) notes.push(`${result.node}: ${Message}`);
    if (notes.length === mostNotes) break;
  }
  return notes;
}

const noWork = (): Promise<never> => Promise.reject(new Error('This command has no work on nodes.'));

async function* finallyDoing<T>(items: AsyncIterable<T>, last: () => Promise<void>): AsyncIterable<T> {
  try {
    yield* items;
  } finally {
    await last();
  }
}
