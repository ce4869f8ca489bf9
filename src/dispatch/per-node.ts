import type { CommandServices, Scope } from '../commands/command.ts';
import type { AnyPerNode, FinishScope, Means, Plan } from '../commands/per-node.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import { type NodeResult, type PassOn, Verdict } from '../core/results.ts';
import { onBehalfOf } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import type { Room } from '../protocols/ssh/collected.ts';
import type { Effects } from '../services/effects.ts';
import { LocalFiles } from '../services/remote/local-files.ts';
import { discreetFailure } from './discreet.ts';
import type { Run, Runs } from './runs.ts';
import { workOn, type Workplace } from './work.ts';

/** What commands that work node by node are run with. */
export interface PerNodeServices extends CommandServices {
  readonly runs: Runs;
  readonly means: Means;
  readonly effects: Effects;
}

/** Work begins when the first result is asked for. */
export interface NodeResults {
  readonly results: AsyncIterable<readonly NodeResult[]>;
  /** Who takes output that is more than can be kept; said before the work begins. */
  passOutputTo(taker: PassOn): void;
}

/** Prepares a command, has its work done here, and notes what comes of it in the run. What is refused is refused before it returns. */
export function perNodeResults(
  { runs, means, effects, remote }: PerNodeServices,
  command: AnyPerNode,
  args: unknown,
  snapshot: Snapshot,
  scope: Scope,
  run: Run,
  detached: boolean,
): NodeResults {
  const { selection, caller } = scope;
  const { user, client } = caller;
  const nodes = selection.nodes ?? [];
  checkLoad(runs, user, nodes.length);
  run.nodes = nodes.length;
  const origin = { user, client, command: command.name, run: run.id };
  const files = new LocalFiles();
  let hasEffects = false;
  let room: Room | undefined;
  const ended = detached ? new AbortController() : undefined;
  let passOn: PassOn | undefined;
  const workplace: Workplace = {
    means,
    files,
    signal: run.abort!.signal,
    tell(node, effect) {
      if (effect.kind === 'progress') {
        runs.note(run, node, effect.sentence);
        return undefined;
      }
      // Nobody reads it behind the reply.
      if (effect.kind !== 'power') hasEffects = true;
      return effects.apply(node, effect, origin);
    },
    passOn: () => passOn,
    // A client that does not wait leaves at once; what was printed is wanted until the run has it.
    room: () => (room ??= remote.keptOutput.until(ended?.signal ?? scope.signal(), user)),
  };
  // A certificate or key that the work meets first is journalled under the caller's name.
  const { name, work } = command;
  const forCaller = onBehalfOf(origin);
  const ofCaller: typeof work = (...what) => forCaller(work, ...what);
  const again = (some: readonly string[], plan: Plan<unknown, unknown>) =>
    workOn({ name, work: ofCaller }, user, some, plan, workplace);
  const plan = command.prepare(snapshot, args, scope);
  const worked = again(nodes, plan);
  const finishing: FinishScope<unknown, unknown, unknown> = Object.assign(Object.create(scope), {
    snapshot,
    again,
    cancelled: run.abort!.signal,
  });
  runs.start(run, nodes);
  const finished = command.finish?.(worked, args, finishing) ?? (worked as AsyncIterable<readonly NodeResult[]>);
  const told = (sentence: string): string => discreetFailure(scope, sentenceWithoutSecrets(sentence));
  const results = noted(runs, run, finished, told, async () => {
    ended?.abort();
    await files.close();
    // Whoever reads the status behind the reply sees it.
    if (hasEffects) await effects.flush();
  });
  return { results, passOutputTo: (taker) => (passOn = taker) };
}

/** Every node that is worked on takes memory, which is all users'. One request alone may be larger. */
const maximumUnderWay = 100_000;
/** As many requests as a user may have at a time are not too much with fewer nodes. */
const few = 100;

function checkLoad(runs: Runs, user: string, nodes: number): void {
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
  run: Run,
  results: AsyncIterable<readonly NodeResult[]>,
  told: (sentence: string) => string,
  close: () => Promise<void>,
): AsyncIterable<readonly NodeResult[]> {
  const verdict = new Verdict();
  const note = (given: NodeResult): NodeResult => {
    const result = 'error' in given ? { ...given, error: told(given.error) } : given;
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
      runs.finish(run, kind ? errorKinds[kind].code : 0);
    }
  }
}
