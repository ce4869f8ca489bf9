import { type Answer, nothing } from '../commands/command.ts';
import type { AnyLong } from '../commands/long.ts';
import { errorKinds, type Fault } from '../core/errors.ts';
import { atOnce } from '../core/slices.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { LongRun } from '../work/index.ts';
import { type Admitted, admit, type Call } from './admit.ts';
import { auditNow } from './audit.ts';
import { nothingDone } from './nothing-done.ts';
import type { DispatchServices, Outcome } from './request.ts';
import type { RunProgress } from './run-progress.ts';

/** Long work under way. */
export interface WorkUnderWay {
  readonly shape: 'work';
  readonly progress: RunProgress;
  readonly ended: Promise<WorkDone>;
}

export interface WorkDone {
  readonly answer: Answer;
  readonly revision: number;
  readonly snapshot: Snapshot;
}

type LongCall = Call<AnyLong>;

/**
 * What can be refused is refused, noted in the audit log and recorded before this returns; the work goes on whether or not somebody
 * waits for it.
 */
export async function runLong(call: LongCall): Promise<Outcome> {
  const { services, request, run, command } = call;
  const snapshot = services.store.current;
  const { user, client, range, line, id } = request;
  const scope = atOnce(admit(call, snapshot));
  run.nodes = scope.selection.objects?.length ?? 0;
  const claim = {
    subject: command.subject(request.args),
    run: run.id,
    command: command.name,
    user,
    started: run.started,
    seesAll: scope.caller.hasFullRights(),
  };
  const longRun = await services.longWork.begin(claim, run.abort!.signal);
  let job: unknown;
  try {
    job = await command.prepare(snapshot, request.args, scope);
    await auditNow(services, request, 'Allowed').catch(nothingDone);
    await longRun.record({ client, range, line, request: id });
    longRun.signal.throwIfAborted();
  } catch (error) {
    await longRun.end(true);
    throw error;
  }
  services.runs.start(run, scope.selection.nodes);
  const ended = finish(call, longRun, { job, scope });
  // Nobody need wait for it: the run shows how it ended.
  ended.catch(() => undefined);
  const answer: WorkUnderWay = { shape: 'work', progress: run.progress!, ended };
  return { run, revision: snapshot.revision, snapshot, answer };
}

interface Prepared {
  readonly job: unknown;
  readonly scope: Admitted;
}

async function finish(call: LongCall, longRun: LongRun, prepared: Prepared): Promise<WorkDone> {
  const { runs } = call.services;
  const { run } = call;
  try {
    const waits = (): void =>
      runs.report(run, { lines: ['Other long work is under way; this begins when its turn comes.'], done: 0, of: 1 });
    const done = await longRun.inTurn(waits, async (hasWaited) =>
      work(call, longRun, hasWaited ? await prepareAgain(call) : prepared),
    );
    await longRun.end(true);
    run.ok = run.nodes;
    run.messages = 'messages' in done.answer ? done.answer.messages : undefined;
    runs.finish(run, 0);
    return done;
  } catch (error) {
    const fault = longRun.faultOf(error);
    run.failed = run.nodes;
    await conclude(call, longRun, fault);
    throw fault;
  }
}

/** Others have changed things meanwhile. */
async function prepareAgain(call: LongCall): Promise<Prepared> {
  const snapshot = call.services.store.current;
  const scope = atOnce(admit(call, snapshot));
  return { scope, job: await call.command.prepare(snapshot, call.request.args, scope) };
}

async function work(
  { services: { store, runs, seal }, request: { args, user, client }, run, command }: LongCall,
  longRun: LongRun,
  { job, scope }: Prepared,
): Promise<WorkDone> {
  const made = await longRun.do(command.module, job, (batch) => runs.report(run, batch));
  const answer = command.answer?.(made, args) ?? nothing;
  if (!command.plan) return { answer, revision: store.current.revision, snapshot: store.current };
  const origin = { user, client, command: command.name, run: run.id };
  const { revision, snapshot } = await longRun.settle((check) =>
    store.change(origin, (head) => {
      check();
      const draft = new Draft(head, seal);
      command.plan!(draft, made, args, scope);
      return draft.changes();
    }),
  );
  return { answer, revision, snapshot };
}

const statuses = { finished: 'Failed', cancelled: 'Cancelled', interrupted: 'Interrupted' } as const;

async function conclude({ services, request, run }: LongCall, longRun: LongRun, fault: Fault): Promise<void> {
  const state = longRun.isStopped ? 'interrupted' : run.abort!.signal.aborted ? 'cancelled' : 'finished';
  try {
    await auditNow(services, request, statuses[state]);
  } finally {
    await longRun.end(false);
    services.runs.finish(run, errorKinds[fault.kind].code, { state, error: fault.sentences });
  }
}

/** At the start of muster: what an earlier one left is noted as interrupted, and its traces are removed. */
export async function resumeLongWork({
  longWork,
  store,
  audit,
}: Pick<DispatchServices, 'longWork' | 'store' | 'audit'>): Promise<void> {
  await longWork.resume(async ({ user, client, command, range, line, request }) => {
    if (!audit) return;
    const status = statuses.interrupted;
    const time = Date.now();
    await store.audit({ time, user, client, command, noderange: range, args: line, status, request });
  });
}
