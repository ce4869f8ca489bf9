import type { Answer, Scope } from '../commands/command.ts';
import { nothing } from '../commands/command.ts';
import type { AnyLong } from '../commands/long.ts';
import { errorKinds, type Fault } from '../core/errors.ts';
import { Draft, type Seal } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isSameSince } from '../objects/account-lives.ts';
import type { Store } from '../database/store.ts';
import type { LongWork } from '../services/long-work/long-work.ts';
import type { RunRecord } from '../services/long-work/records.ts';
import type { Undertaking } from '../services/long-work/undertaking.ts';
import type { RunProgress } from './run-progress.ts';
import type { Run, Runs } from './runs.ts';

export interface LongServices {
  readonly store: Store;
  readonly runs: Runs;
  readonly seal: Seal;
  readonly longWork: LongWork;
}

/** Long work that was asked for. */
export interface LongRequest {
  readonly command: AnyLong;
  readonly args: unknown;
  readonly run: Run;
  readonly user: string;
  readonly client: string;
  readonly range: string;
  readonly line: string;
  readonly id: string;
  /** Asks the policy, and says what the request is about. */
  admit(snapshot: Snapshot): Scope;
  audit(status: string): Promise<void>;
}

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

/** What can be refused is refused, noted and recorded before this returns; the work goes on whether or not somebody waits for it. */
export async function beginLong(services: LongServices, request: LongRequest): Promise<WorkUnderWay> {
  const { command, args, run, user, client, range, line, id } = request;
  const snapshot = services.store.current;
  const scope = request.admit(snapshot);
  run.nodes = scope.selection.objects?.length ?? 0;
  const claim = {
    subject: command.subject(args),
    run: run.id,
    command: command.name,
    user,
    started: run.started,
    seesAll: scope.caller.hasFullRights(),
  };
  const undertaking = services.longWork.begin(claim, run.abort!.signal);
  let job: unknown;
  try {
    job = await command.prepare(snapshot, args, scope);
    await request.audit('Allowed');
    await undertaking.record({ client, range, line, request: id });
    undertaking.signal.throwIfAborted();
  } catch (error) {
    await undertaking.end(true);
    throw error;
  }
  services.runs.start(run, scope.selection.nodes);
  const ended = finish(services, request, undertaking, { job, scope });
  // Nobody need wait for it: the run tells how it ended.
  ended.catch(() => undefined);
  return { shape: 'work', progress: run.progress!, ended };
}

interface Prepared {
  readonly job: unknown;
  readonly scope: Scope;
}

async function finish(
  services: LongServices,
  request: LongRequest,
  undertaking: Undertaking,
  prepared: Prepared,
): Promise<WorkDone> {
  const { runs } = services;
  const { run } = request;
  try {
    const waits = (): void =>
      runs.tell(run, { lines: ['Other long work is under way; this begins when its turn comes.'], done: 0, of: 1 });
    const done = await undertaking.inTurn(waits, async (hasWaited) =>
      work(services, request, undertaking, hasWaited ? await prepareAgain(services, request) : prepared),
    );
    await undertaking.end(true);
    run.ok = run.nodes;
    run.messages = 'messages' in done.answer ? done.answer.messages : undefined;
    runs.finish(run, 0);
    return done;
  } catch (error) {
    const fault = undertaking.told(error);
    run.failed = run.nodes;
    await conclude(services, request, undertaking, fault);
    throw fault;
  }
}

/** Others have changed things meanwhile. */
async function prepareAgain({ store }: LongServices, { command, args, admit }: LongRequest): Promise<Prepared> {
  const snapshot = store.current;
  const scope = admit(snapshot);
  return { scope, job: await command.prepare(snapshot, args, scope) };
}

async function work(
  { store, runs, seal }: LongServices,
  { command, args, run, user, client }: LongRequest,
  undertaking: Undertaking,
  { job, scope }: Prepared,
): Promise<WorkDone> {
  const made = await undertaking.do(command.module, job, (batch) => runs.tell(run, batch));
  const answer = command.answer?.(made, args) ?? nothing;
  if (!command.plan) return { answer, revision: store.current.revision, snapshot: store.current };
  const origin = { user, client, command: command.name, run: run.id };
  const { revision, snapshot } = await store.change(origin, (head) => {
    const draft = new Draft(head, seal);
    command.plan!(draft, made, args, scope);
    return draft.changes();
  });
  return { answer, revision, snapshot };
}

const statuses = { finished: 'Failed', cancelled: 'Cancelled', interrupted: 'Interrupted' } as const;

async function conclude(
  { runs }: LongServices,
  { run, audit }: LongRequest,
  undertaking: Undertaking,
  fault: Fault,
): Promise<void> {
  const state = undertaking.isStopped ? 'interrupted' : run.abort!.signal.aborted ? 'cancelled' : 'finished';
  try {
    await audit(statuses[state]);
  } finally {
    await undertaking.end(false);
    runs.finish(run, errorKinds[fault.kind].code, { state, error: fault.sentences });
  }
}

/** At the start of muster: what an earlier one left is shown as interrupted, and its traces are removed. */
export async function resumeLongWork({
  longWork,
  runs,
  store,
  audit,
}: LongServices & { readonly audit: boolean }): Promise<void> {
  const note = async ({ user, client, command, range, line, request }: RunRecord): Promise<void> => {
    if (!audit) return;
    const status = statuses.interrupted;
    const time = Date.now();
    await store.audit({ time, user, client, command, noderange: range, args: line, status, request });
  };
  for (const record of await longWork.resume(note))
    runs.restore(record, await isSameSince(store, record.user, record.started));
}
