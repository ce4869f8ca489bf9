import { Fault, Unreachable } from '../../core/errors.ts';
import { pause } from '../../protocols/redfish/abort.ts';
import { Refusal } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { messagesOf } from '../../protocols/redfish/faults.ts';
import { type Json, linkAt, listAt, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { messageText } from '../../protocols/redfish/message.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import type { UpdateService } from './update-service.ts';
import type { Target } from './target.ts';

/** What is needed to follow an update. */
export interface Following {
  readonly target: Target;
  readonly update: UpdateService;
  /** The deadline, by `performance.now`. */
  readonly end: number;
  readonly signal: AbortSignal;
  /** Words of the hardware, without what must stay secret. */
  tell(sentence: string): void;
  /** Says to whoever keeps the update that it goes on. */
  beat(): Promise<void>;
}

/** `gone`: the service knows nothing of it any more. `waiting`: it waits for its time. */
export type TaskEnd = 'done' | 'gone' | 'waiting';

interface TaskLook {
  readonly state: 'working' | 'waiting' | 'done' | 'failed' | 'gone';
  readonly said: string;
}

/** Task.TaskState, and the words of an iDRAC's jobs. */
const states: Readonly<Record<string, TaskLook['state']>> = {
  New: 'working',
  Starting: 'working',
  Running: 'working',
  Stopping: 'working',
  Cancelling: 'working',
  Service: 'working',
  Pending: 'waiting',
  Suspended: 'waiting',
  Completed: 'done',
  Exception: 'failed',
  Killed: 'failed',
  Cancelled: 'failed',
  Interrupted: 'failed',
  Scheduled: 'waiting',
  ScheduledWaiting: 'waiting',
  Failed: 'failed',
  CompletedWithErrors: 'failed',
};

const firstPause = 250;
const longestPause = 5_000;
/** A BMC that starts may refuse every account for a while; many refused logins lock it. */
const refusedPause = 30_000;
const mostRefused = 20;

/** Whether an error means that the BMC is not there at the moment, as while it restarts. */
export const isAway = (error: unknown): error is Fault =>
  error instanceof Unreachable ||
  (error instanceof Refusal && (error.status === 401 || error.status === 403 || error.status >= 500)) ||
  (error instanceof Fault && (error.kind === 'unavailable' || error.kind === 'garbled'));

/** Asks again and again until an answer ends it. While the BMC is away nothing does, until the time is over. */
export async function askUntil<T>(
  { target, signal, end, tell, beat }: Following,
  ask: () => Promise<T | undefined>,
  late: string,
): Promise<T> {
  let wait = firstPause;
  let isGone = false;
  let refusals = 0;
  for (;;) {
    let refused = false;
    try {
      await beat();
      // Each question is a command of its own to the bounds of a service: the work may take an hour.
      target.service.begin(0);
      const answer = await ask();
      if (answer !== undefined) return answer;
      if (isGone) tell('Its BMC answers again.');
      isGone = false;
    } catch (error) {
      if (!isAway(error) || signal.aborted) throw error;
      refused = error instanceof Refusal && (error.status === 401 || error.status === 403);
      if (refused && ++refusals > mostRefused) throw error;
      if (performance.now() >= end)
        throw new Fault('deadline', `its BMC has not come back: ${error.message} ${late}`, { cause: error });
      if (!isGone) tell('Its BMC does not answer at the moment; it may be restarting.');
      isGone = true;
    }
    const left = end - performance.now();
    if (left <= 0) throw new Fault('deadline', late);
    await pause(Math.min(refused ? refusedPause : wait, left), signal);
    wait = Math.min(wait * 1.5, longestPause);
  }
}

/** Follows a task to its end. */
export async function followTask(following: Following, path: string): Promise<TaskEnd> {
  const { target, signal, tell } = following;
  let last = '';
  return askUntil(
    following,
    async () => {
      const look = await lookAtTask(target, path, signal);
      if (look.said !== last && look.said !== '') tell((last = look.said));
      if (look.state === 'failed') throw new UpdateFailed(look.said);
      return look.state === 'working' ? undefined : look.state;
    },
    'Its BMC still works on the update; rflash with the same file goes on to watch it.',
  );
}

/** The service has said that it could not do it: nothing is under way any more. */
export class UpdateFailed extends Fault {
  constructor(said: string) {
    super('invalid', `its BMC could not carry out the update. It says: ${said || 'nothing'}`);
  }
}

export async function lookAtTask({ service }: Target, path: string, signal: AbortSignal): Promise<TaskLook> {
  const { status, body } = await service.monitor(path, signal);
  if (status === 404 || status === 405 || status === 410) return { state: 'gone', said: '' };
  const word = textAt(body, 'TaskState');
  const job = textAt(body, 'Oem', 'Dell', 'JobState');
  const said = wordsOf(body);
  if (status >= 400) return { state: 'failed', said: messagesOf(body) || said };
  if (word === undefined) return { state: status === 202 ? 'working' : 'done', said };
  const own = states[word] ?? 'working';
  const state = (job !== undefined && own !== 'failed' && states[job]) || own;
  const isBad = state === 'done' && textAt(body, 'TaskStatus') === 'Critical';
  return { state: isBad ? 'failed' : state, said };
}

const mostWords = 300;

/** State, percent and the last message. */
function wordsOf(body: Json): string {
  const percent = numberAt(body, 'PercentComplete');
  const state = textAt(body, 'TaskState') ?? '';
  const shown = percent === undefined || percent < 0 || percent > 100 ? state : `${state} ${percent} %`;
  const messages = listAt(body, 'Messages').slice(-mostMessages);
  const message = messages.flatMap((one) => messageText(one) ?? textAt(one, 'MessageId') ?? []).at(-1);
  return [shown, message].filter(Boolean).join(': ').slice(0, mostWords);
}

const mostMessages = 20;

export interface RunningUpdate {
  readonly path: string;
  readonly said: string;
}

/** Updates that the service is carrying out; undefined if it shows no tasks. */
export async function runningUpdates(
  target: Target,
  signal: AbortSignal,
): Promise<readonly RunningUpdate[] | undefined> {
  try {
    const taskService = await rootMember(target.service, 'Tasks', signal);
    const collection = linkAt(taskService?.body, 'Tasks');
    if (collection === undefined) return undefined;
    const tasks = await memberResources(target.service, collection, signal, 'leaveOut');
    return tasks.flatMap(({ path, body }) => (isRunningUpdate(body) ? [{ path, said: wordsOf(body) }] : []));
  } catch (error) {
    if (!(error instanceof Refusal && (error.ofRequest || error.ofService))) throw error;
    return undefined;
  }
}

function isRunningUpdate(body: Json): boolean {
  if (states[textAt(body, 'TaskState') ?? ''] !== 'working') return false;
  const address = textAt(body, 'Payload', 'TargetUri') ?? '';
  if (/UpdateService|fwupdate/i.test(address)) return true;
  if (/firmware|update|flash/i.test(textAt(body, 'Name') ?? '')) return true;
  if (/firmware/i.test(textAt(body, 'Oem', 'Dell', 'JobType') ?? '')) return true;
  return listAt(body, 'Messages').some((message) => textAt(message, 'MessageId')?.startsWith('Update.') ?? false);
}
