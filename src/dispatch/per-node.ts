import type { AnyPerNode, FinishScope, PerNode, Plan, SentTo } from '../commands/per-node.ts';
import type { ServiceName } from '../commands/command.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import { type NodeResult, type PassOn, Verdict } from '../core/results.ts';
import { atOnce } from '../core/slices.ts';
import { onBehalfOf } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import type { Room } from '../protocols/ssh/collected.ts';
import { LocalFiles, workerFinder } from '../nodes/index.ts';
import { type Admitted, admit, type Call } from './admit.ts';
import { listable } from './permission.ts';
import { redactedFailure } from './redacted.ts';
import type { Outcome, Request } from './request.ts';
import type { Runs } from './runs.ts';
import { divided } from './division.ts';
import { divisionOf } from './service-nodes.ts';
import { workOn, type Workplace } from './work.ts';

/** Work begins when the first result is asked for. */
export interface NodeResults {
  readonly results: AsyncIterable<readonly NodeResult[]>;
  /** Who takes output that is more than can be kept; said before the work begins. */
  passOutputTo(taker: PassOn): void;
}

/** Prepares a command and has its work done here. What is refused is refused before it returns. */
export function runPerNode(call: Call<AnyPerNode>): Outcome {
  const { services, request, run, command } = call;
  const snapshot = services.store.current;
  const scope = atOnce(admit(call, snapshot));
  const nodes = scope.selection.nodes ?? [];
  command.confirm?.(request.args, scope);
  checkLoad(services.runs, request.user, nodes.length);
  run.nodes = nodes.length;
  const work = workOf(call, scope);
  const worked = work.on(nodes, command.prepare(snapshot, request.args, scope));
  const finishing: FinishScope<unknown, unknown, unknown, ServiceName> = {
    ...scope,
    snapshot,
    again: work.on,
    cancelled: run.abort!.signal,
  };
  services.runs.start(run, nodes);
  const results = command.finish?.(worked, request.args, finishing) ?? (worked as AsyncIterable<readonly NodeResult[]>);
  if (!outlivesClient(request)) endWithClient(call);
  return { run, revision: snapshot.revision, snapshot, answer: { shape: 'stream', ...work.noted(results) } };
}

/** Works out whom it would be sent to, and sends nothing. */
export async function tryPerNode(call: Call<AnyPerNode>): Promise<Outcome> {
  const { services, request, run, command } = call;
  const snapshot = services.store.current;
  const scope = atOnce(admit(call, snapshot));
  const nodes = scope.selection.nodes ?? [];
  const plan = command.prepare(snapshot, request.args, scope);
  const { workerServices, workers } = services;
  const workerFor = workers && command.onWorkers ? workerFinder(workers, snapshot) : undefined;
  const describe: AnyPerNode['work'] = async (shared, target, task) => {
    const { node } = task;
    const sentTo = { ...command.sentTo!(target, shared), ...(await command.preview?.(shared, target, task)) };
    const worker = command.onWorkers?.takes?.(target) === false ? undefined : workerFor?.(node);
    if (!worker) return { node, value: sentTo };
    // The worker is the service node on the way.
    const { via: _, ...direct } = sentTo;
    return { node, value: { ...direct, worker: worker.name } };
  };
  const files = new LocalFiles();
  const workplace = { workerServices, files, signal: run.abort!.signal, report: () => undefined };
  const found = await Array.fromAsync(
    workOn({ name: command.name, work: describe }, request.user, nodes, plan, workplace),
  );
  const results = shownTries(call, scope, snapshot, found.flat() as NodeResult[]);
  run.nodes = nodes.length;
  return { run, revision: snapshot.revision, snapshot, answer: { shape: 'dry-run', nodes: nodes.length, results } };
}

/** What a caller may see of a dry run: where a node's hardware is only with the right to list the node. */
export function shownTries(
  { services, run, permission }: Call,
  scope: Admitted,
  snapshot: Snapshot,
  results: readonly NodeResult[],
): readonly NodeResult[] {
  const mayList = listable(snapshot, permission);
  run.failed = results.filter((result) => 'error' in result).length;
  run.ok = results.length - run.failed;
  return results.map((result) => {
    if ('error' in result)
      return { ...result, error: redactedFailure(scope, services.boot, sentenceWithoutSecrets(result.error)) };
    if (!('value' in result) || mayList(result.node)) return result;
    const {
      address: _,
      via: _via,
      worker: _worker,
      to: _to,
      ...value
    } = result.value as SentTo & Record<string, string>;
    return { node: result.node, value };
  });
}

export function outlivesClient({ command, args, detached }: Request): boolean {
  return command.kind === 'per-node' && (detached || (command as AnyPerNode).outlivesClient?.(args) === true);
}

function endWithClient({ request, run }: Call): void {
  const abort = run.abort!;
  // Not AbortSignal.any: asking what that returns whether it is aborted costs more, and every node's work asks often.
  const left = request.signal();
  if (left.aborted) abort.abort(left.reason);
  else left.addEventListener('abort', () => abort.abort(left.reason), { once: true });
}

/** The work of a command on nodes, in this process. */
export interface NodeWork {
  on(nodes: readonly string[], plan: Plan<unknown, unknown>): AsyncIterable<readonly NodeResult<unknown>[]>;
  /** The results, as the client and the run get them; its end is the end of the run. */
  noted(results: AsyncIterable<readonly NodeResult[]>): NodeResults;
}

/** What the work finds or brings about is kept under the caller's name. */
export function workOf({ services, request, run, command }: Call<Worker>, scope: Admitted): NodeWork {
  const { runs, workerServices, effects, remote, boot } = services;
  const { user, client, detached } = request;
  const origin = { user, client, command: command.name, run: run.id };
  const files = new LocalFiles();
  const ended = detached ? new AbortController() : undefined;
  let hasEffects = false;
  let room: Room | undefined;
  let passOn: PassOn | undefined;
  const workplace: Workplace = {
    workerServices,
    files,
    signal: run.abort!.signal,
    report(node, effect) {
      if (effect.kind === 'progress') {
        runs.note(run, node, effect.sentence);
        return undefined;
      }
      // Nobody reads it behind the reply.
      if (effect.kind !== 'power') hasEffects = true;
      const keeping = effects.apply(node, effect, origin);
      const isBeginning = effect.kind === 'firmware' && effect.trace?.step === 'sending';
      // Whoever looks at the run after a crash finds what may have been sent.
      return isBeginning ? keeping?.then(() => runs.kept(run)) : keeping;
    },
    passOn: () => passOn,
    // A client that does not wait leaves at once; what was printed is wanted until the run has it.
    room: () => (room ??= remote.keptOutput.until(ended?.signal ?? scope.signal(), user)),
  };
  // A certificate or key that the work meets first is journalled under the caller's name.
  const { name, work } = command;
  const forCaller = onBehalfOf(origin);
  const ofCaller: typeof work = (...what) => forCaller(work, ...what);
  const here: NodeWork['on'] = (nodes, plan) => workOn({ name, work: ofCaller }, user, nodes, plan, workplace);
  const divide = divisionOf(services, request, command, workplace, here);
  const shown = (sentence: string): string => redactedFailure(scope, boot, sentenceWithoutSecrets(sentence));
  const close = async (): Promise<void> => {
    ended?.abort();
    await files.close();
    await request.files?.remove();
    // Whoever reads the status behind the reply sees it.
    if (hasEffects) await effects.flush();
  };
  return {
    on: divide ? (nodes, plan) => divided(divide, nodes, plan) : here,
    noted: (results) => ({
      results: noted(runs, run, results, shown, close),
      passOutputTo: (taker) => (passOn = taker),
    }),
  };
}

type Worker = Pick<PerNode<never, unknown, unknown, unknown>, 'name' | 'work' | 'onWorkers'>;

/** Every node that is worked on takes memory, which is all users'. One request alone may be larger. */
const maximumUnderWay = 100_000;
/** As many requests as a user may have at a time are not too much with fewer nodes. */
const few = 100;

export function checkLoad(runs: Runs, user: string, nodes: number): void {
  if (nodes < few) return;
  const underWay = runs.nodesUnderWay(user);
  if (underWay === 0 || underWay + nodes <= maximumUnderWay) return;
  throw new Fault(
    'unavailable',
    `Commands of user "${user}" are at work on ${underWay} nodes; with these it would be more than ${maximumUnderWay}. Try again when some are done.`,
    { retryAfter: 5 },
  );
}

async function* noted(
  runs: Runs,
  run: Call['run'],
  results: AsyncIterable<readonly NodeResult[]>,
  shown: (sentence: string) => string,
  close: () => Promise<void>,
): AsyncIterable<readonly NodeResult[]> {
  const verdict = new Verdict();
  const note = (given: NodeResult): NodeResult => {
    const result = 'error' in given ? { ...given, error: shown(given.error) } : given;
    verdict.add(result);
    runs.add(run, result);
    return result;
  };
  let ended = false;
  try {
    for await (const batch of results) yield batch.map(note);
    ended = true;
  } finally {
    try {
      await close();
    } finally {
      const kind = ended ? verdict.kind : 'unavailable';
      const isCancelled = run.failed > 0 && run.abort?.signal.aborted;
      runs.finish(run, kind ? errorKinds[kind].code : 0, isCancelled ? { state: 'cancelled', error: [] } : undefined);
    }
  }
}
