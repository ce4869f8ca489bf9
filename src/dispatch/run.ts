import type { AnyCommand, RunHead } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { RunNews } from '../core/event-kinds.ts';
import { RunProgress } from './run-progress.ts';

export interface Run {
  readonly id: string;
  readonly command: string;
  readonly user: string;
  /** Apart, since those who hear of runs keep it for longer than the rest. */
  readonly owner: { readonly user: string; isOwned: boolean; readonly by?: string | undefined };
  readonly started: number;
  finished: number | undefined;
  nodes: number;
  ok: number;
  failed: number;
  errorcode: number;
  /** Nodes whose output is not kept as a whole. */
  cut: number | undefined;
  /** Only of commands that work node by node; 'dropped' when they took too much memory. */
  results: object[] | 'dropped' | undefined;
  /** The memory they take, roughly, in bytes. */
  weight: number;
  /** How far the work on nodes is that takes long; of those whose result is not there. */
  underWay: Map<string, string> | undefined;
  /** What an act had to say. */
  messages: readonly string[] | undefined;
  /** What was taken though it looks wrong. */
  notes: readonly string[] | undefined;
  /** Whether a note says that a node does not get what it was given, or cannot use it: then even scripts are to see it. */
  isContested: boolean;
  /** Of long work: how far it is, how it ended, and why it failed. */
  readonly progress: RunProgress | undefined;
  end: RunEnd | undefined;
  /** What can be cancelled has one. */
  abort: AbortController | undefined;
}

export interface RunEnd {
  readonly state: 'finished' | 'cancelled' | 'interrupted';
  readonly error: readonly string[];
}

/** What is shown of a run besides its head and its results. */
export interface RunDetails {
  readonly cut?: number | undefined;
  readonly messages?: readonly string[] | undefined;
  readonly notes?: readonly string[] | undefined;
  readonly lines?: readonly string[];
  readonly linesBefore?: number;
  readonly underWay?: Readonly<Record<string, string>>;
  readonly note?: string;
}

const droppedNote = 'The results are no longer kept: those of all runs took more memory than they may use.';

/** `by`: the limited token that begins it, if one does. */
export const newRun = (
  id: string,
  command: string,
  user: string,
  started: number,
  kind: AnyCommand['kind'],
  by?: string,
): Run => ({
  id,
  command,
  user,
  owner: { user, isOwned: true, by },
  started,
  finished: undefined,
  nodes: 0,
  ok: 0,
  failed: 0,
  errorcode: 0,
  cut: undefined,
  results: undefined,
  weight: 0,
  underWay: undefined,
  messages: undefined,
  notes: undefined,
  isContested: false,
  progress: kind === 'long' ? new RunProgress() : undefined,
  end: undefined,
  abort: kind === 'per-node' || kind === 'long' ? new AbortController() : undefined,
});

/** Whether it is the user's; a limited token has those that it began. */
export const isOf = ({ owner }: Pick<Run, 'owner'>, user: string, by?: string): boolean =>
  owner.user === user && owner.isOwned && (by === undefined || owner.by === by);

export const stateOf = ({ finished, end }: Run): RunHead['state'] =>
  finished === undefined ? 'running' : (end?.state ?? 'finished');

/** Who does what, since when, and how far it is. */
export function headOf(run: Run): RunHead {
  const { id, command, user, nodes, ok, failed, errorcode, started, finished, progress } = run;
  return {
    id,
    command,
    user,
    nodes,
    ok,
    failed,
    errorcode,
    state: stateOf(run),
    started: new Date(started).toISOString(),
    ...(finished === undefined ? {} : { finished: new Date(finished).toISOString() }),
    ...(progress ? { progress: progress.now } : {}),
  };
}

export function detailsOf({ cut, messages, notes, progress, underWay, results }: Run): RunDetails {
  return {
    cut,
    messages,
    notes,
    ...(progress ? { lines: [...progress.lines], linesBefore: progress.linesBefore } : {}),
    ...(underWay?.size ? { underWay: Object.fromEntries(underWay) } : {}),
    ...(results === 'dropped' ? { note: droppedNote } : {}),
  };
}

/** A run as GET shows it. */
export const shownRun = (
  head: RunHead,
  error: readonly string[],
  details: RunDetails,
  results: readonly unknown[] | undefined,
): object => ({ ...head, ...details, ...(error.length > 0 ? { error } : {}), ...(results ? { results } : {}) });

/** What those who listen get. */
export function newsOf(head: RunHead, error: readonly string[]): RunNews {
  const { id: run, command, user, nodes, ok, failed, progress, errorcode } = head;
  const isBegun = head.state === 'running' && ok + failed === 0 && !progress?.line;
  return {
    run,
    state: isBegun ? 'begun' : head.state,
    command,
    user,
    nodes,
    ok,
    failed,
    ...(progress ? { progress } : {}),
    ...(head.state === 'running' ? {} : { errorcode }),
    ...(error.length > 0 ? { error } : {}),
  };
}

export const cannotBeCancelled = (id: string, command: string): Fault =>
  new Fault('invalid', `Run ${id} cannot be cancelled: ${command} is done at once or not at all.`);
export const hasEnded = (id: string): Fault => new Fault('invalid', `Run ${id} has ended; there is nothing to cancel.`);
export const noSuchRun = (id: string): Fault =>
  new Fault('unknown-object', `There is no run "${id}" of yours; runs are kept for a day.`);
