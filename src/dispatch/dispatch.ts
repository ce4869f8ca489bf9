import { setTimeout as pause } from 'node:timers/promises';
import { canBeTried, type Command } from '../commands/command.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import { policyOf } from '../objects/policy.ts';
import { auditFailure, auditNow, auditSoon } from './audit.ts';
import { runChange } from './change.ts';
import { runNodeChange } from './node-change.ts';
import { runLong } from './long.ts';
import { nothingDone } from './nothing-done.ts';
import { peerNames } from './peer-names.ts';
import { outlivesClient, runPerNode, tryPerNode } from './per-node.ts';
import { checkCouldBeAllowed } from './permission.ts';
import { checkStillKnown } from './still-known.ts';
import { runAct, runQuery } from './query-and-act.ts';
import type { DispatchServices, Outcome, Request } from './request.ts';
import type { Run, RunEnd } from './run.ts';

/** Milliseconds. */
const revisionTimeout = 5_000;
const refreshTimeout = 15_000;
/** How long a database that fails is asked again, such as while another server changes its form. */
const refreshRetries = 5_000;
const refreshPause = 200;
const readTimeout = 2_000;

/** The one way in for every command: resolve what it is about, check the policy, run it, note it in the audit log. */
export function dispatch(services: DispatchServices, request: Request): Promise<Outcome> | Outcome {
  const run = services.runs.begin(request.command.name, request.user, request.command.kind, request.scope?.id);
  request.began(run.id);
  const failed = (error: unknown): Promise<never> => fail(services, request, run, error);
  try {
    const newest = whenNewest(services, request);
    const executed = newest ? newest.then(() => execute(services, request, run)) : execute(services, request, run);
    const outcome =
      executed instanceof Promise
        ? executed.then((done) => conclude(services, request, done))
        : conclude(services, request, executed);
    return outcome instanceof Promise ? outcome.catch(failed) : outcome;
  } catch (error) {
    return failed(error);
  }
}

/** Refuses who could not run the command on anything, before anything large is read for it. */
export async function checkCouldRun(services: DispatchServices, request: Request): Promise<void> {
  const { user, scope, client, command, words, range } = request;
  const snapshot = services.store.current;
  const names = policyOf(snapshot, scope).needsHostNames ? await peerNames(client) : [];
  checkCouldBeAllowed(snapshot, { user, scope, addresses: [client, ...names], command: command.name, words, range });
}

function execute(services: DispatchServices, request: Request, run: Run): Promise<Outcome> | Outcome {
  const command = request.command as Command<unknown>;
  if (request.dryRun && !canBeTried(request.command))
    throw new Fault(
      'invalid',
      `${command.name} has no dry run, and nothing was done: only changes of the database and commands that are sent to nodes can be tried.`,
    );
  if (policyOf(services.store.current, request.scope).needsHostNames) {
    return peerNames(request.client).then((names) => executeFrom([request.client, ...names]));
  }
  return executeFrom([request.client]);

  function executeFrom(addresses: readonly string[]): Promise<Outcome> | Outcome {
    const { user, scope, words, range } = request;
    const call = {
      services,
      request,
      run,
      permission: { user, scope, addresses, command: command.name, words, range },
    };
    switch (command.kind) {
      case 'query':
        return runQuery({ ...call, command });
      case 'change':
        return 'after' in command ? runNodeChange({ ...call, command }) : runChange({ ...call, command });
      case 'act':
        return runAct({ ...call, command });
      case 'long':
        return runLong({ ...call, command });
      case 'per-node':
        return request.dryRun ? tryPerNode({ ...call, command }) : runPerNode({ ...call, command });
    }
  }
}

function conclude(services: DispatchServices, request: Request, outcome: Outcome): Promise<Outcome> | Outcome {
  const { run, answer } = outcome;
  if (answer.shape !== 'stream' && answer.shape !== 'work')
    services.runs.finish(run, run.failed > 0 ? errorKinds.invalid.code : 0);
  const { kind } = request.command;
  // Whoever gets only the id of a run may ask any server for it, and after a crash it is still known.
  const kept = request.detached || answer.shape === 'work' ? services.runs.kept(run) : undefined;
  if (!request.dryRun && (outlivesClient(request) || isNotedFirst(request)))
    return Promise.all([auditNow(services, request, 'Allowed').catch(nothingDone), kept]).then(() => outcome);
  if (kept) return kept.then(() => outcome);
  if (request.dryRun || kind === 'query' || kind === 'per-node') auditSoon(services, request, 'Allowed');
  return outcome;
}

async function fail(services: DispatchServices, request: Request, run: Run, error: unknown): Promise<never> {
  const state: RunEnd['state'] = run.abort?.signal.aborted ? 'cancelled' : 'finished';
  const end = run.progress && error instanceof Fault ? { state, error: error.sentences } : undefined;
  services.runs.finish(run, error instanceof Fault ? errorKinds[error.kind].code : 5, end);
  const noted = auditFailure(services, request, error);
  // A database that is away takes no record either, and nothing was done that would need one.
  await (error instanceof Fault && error.nothingDone ? noted.catch(() => undefined) : noted);
  throw error;
}

const isNotedFirst = ({ command }: Request): boolean => command.kind === 'per-node' && command.isNotedFirst === true;

/**
 * What changes more than the database, and all that follows a pause of this server, is decided by what other servers have acknowledged.
 * Changes of the database are computed on that anyway. Undefined: at once.
 */
function whenNewest(services: DispatchServices, request: Request): Promise<void> | undefined {
  if (isAhead(services, request)) return afterRevision(services, request);
  const { store } = services;
  if (store.database.shared.isAlone) return undefined;
  const { kind } = request.command;
  const changesMore = kind === 'act' || kind === 'long' || outlivesClient(request) || isNotedFirst(request);
  if (changesMore && !request.dryRun) return takeNewest(services, request);
  return store.mayBeBehind ? takeNewestSoon(services, request) : undefined;
}

/** Who waits for a revision is not spared what others have to wait for. */
async function afterRevision(services: DispatchServices, request: Request): Promise<void> {
  await reachRevision(services, request);
  checkStillKnown(services.store.current, request);
  await whenNewest(services, request);
}

async function takeNewest({ store }: DispatchServices, request: Request): Promise<void> {
  const refresh = (): Promise<boolean> =>
    Promise.race([store.refresh().then(() => true), pause(refreshTimeout, false, { ref: false })]);
  const until = performance.now() + refreshRetries;
  let isInTime = await refresh();
  while (isInTime && !store.isFollowing && performance.now() < until) {
    await pause(refreshPause);
    isInTime = await refresh();
  }
  if (!isInTime || !store.isFollowing)
    throw new Fault(
      'unavailable',
      'The database does not answer, so this server does not know what others have changed. Nothing was done.',
      { retryAfter: 5, nothingDone: true },
    );
  checkStillKnown(store.current, request);
}

/** A database that does not answer is not waited for: whoever only reads gets what there is, and how old it may be. */
async function takeNewestSoon({ store }: DispatchServices, request: Request): Promise<void> {
  await Promise.race([store.refresh(), pause(readTimeout, undefined, { ref: false })]);
  checkStillKnown(store.current, request);
}

const isAhead = ({ store }: DispatchServices, { revision }: Request): boolean =>
  revision !== undefined && revision > store.current.revision;

/** Waits for a revision that this server has not reached yet. */
async function reachRevision({ store }: DispatchServices, { revision, signal }: Request): Promise<void> {
  const newest = await store.reach(revision!, AbortSignal.any([signal(), AbortSignal.timeout(revisionTimeout)]));
  if (newest < revision!)
    throw new Fault('unavailable', `Revision ${revision} is not known here; the newest is ${newest}.`, {
      retryAfter: 1,
    });
}
