import { canBeTried, type Command } from '../commands/command.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import { policyOf } from '../objects/policy.ts';
import { auditFailure, auditNow, auditSoon } from './audit.ts';
import { runChange } from './change.ts';
import { runNodeChange } from './node-change.ts';
import { runLong } from './long.ts';
import { peerNames } from './peer-names.ts';
import { outlivesClient, runPerNode, tryPerNode } from './per-node.ts';
import { runAct, runQuery } from './query-and-act.ts';
import type { DispatchServices, Outcome, Request } from './request.ts';
import type { Run, RunEnd } from './runs.ts';

const revisionTimeout = 5_000;

/** The one way in for every command: resolve what it is about, check the policy, run it, note it in the audit log. */
export function dispatch(services: DispatchServices, request: Request): Promise<Outcome> | Outcome {
  const run = services.runs.begin(request.command.name, request.user, request.command.kind);
  request.began(run.id);
  const failed = (error: unknown): Promise<never> => fail(services, request, run, error);
  try {
    const executed = isAhead(services, request)
      ? reachRevision(services, request).then(() => execute(services, request, run))
      : execute(services, request, run);
    const outcome =
      executed instanceof Promise
        ? executed.then((done) => conclude(services, request, done))
        : conclude(services, request, executed);
    return outcome instanceof Promise ? outcome.catch(failed) : outcome;
  } catch (error) {
    return failed(error);
  }
}

function execute(services: DispatchServices, request: Request, run: Run): Promise<Outcome> | Outcome {
  const command = request.command as Command<unknown>;
  if (request.dryRun && !canBeTried(request.command))
    throw new Fault(
      'invalid',
      `${command.name} cannot be tried with dryRun=1, and nothing was done: only changes of the database and commands that are sent to nodes can.`,
    );
  if (policyOf(services.store.current).needsHostNames) {
    return peerNames(request.client).then((names) => executeFrom([request.client, ...names]));
  }
  return executeFrom([request.client]);

  function executeFrom(addresses: readonly string[]): Promise<Outcome> | Outcome {
    const { user, words, range } = request;
    const call = { services, request, run, permission: { user, addresses, command: command.name, words, range } };
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
  if (!request.dryRun && (outlivesClient(request) || isNotedFirst(request)))
    return auditNow(services, request, 'Allowed').then(() => outcome);
  if (request.dryRun || kind === 'query' || kind === 'per-node') auditSoon(services, request, 'Allowed');
  return outcome;
}

async function fail(services: DispatchServices, request: Request, run: Run, error: unknown): Promise<never> {
  const state: RunEnd['state'] = run.abort?.signal.aborted ? 'cancelled' : 'finished';
  const end = run.progress && error instanceof Fault ? { state, error: error.sentences } : undefined;
  services.runs.finish(run, error instanceof Fault ? errorKinds[error.kind].code : 5, end);
  await auditFailure(services, request, error);
  throw error;
}

const isNotedFirst = ({ command }: Request): boolean => command.kind === 'per-node' && command.isNotedFirst === true;

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
