import type { AnyCommand, RunBoard, RunFilter, RunHead } from '../commands/command.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import { NumberedIds } from '../core/numbered-ids.ts';
import { type NodeResult, shownResult } from '../core/results.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import type { Batch, RunRecord } from '../work/index.ts';
import type { RunNews, RunOwner } from '../core/event-kinds.ts';
import { RunProgress } from './run-progress.ts';

export interface Run {
  readonly id: string;
  readonly command: string;
  readonly user: string;
  /** Apart, since those who hear of runs keep it for longer than the rest. */
  readonly owner: { readonly user: string; isOwned: boolean };
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

/** Who hears of runs. */
export interface RunAudience {
  run(news: RunNews, targets: readonly string[] | undefined, owner: RunOwner): void;
  /** Comes often; what it is then is asked for when it is sent. */
  progress(run: string, news: () => RunNews, targets: readonly string[] | undefined, owner: RunOwner): void;
}

/** What became of the runs of a command. */
export interface RunCount {
  readonly ok: number;
  readonly failed: number;
  readonly nodesOk: number;
  readonly nodesFailed: number;
}

interface RunLimits {
  readonly age: number;
  /** Of reads on the one hand, of all other runs on the other: frequent reads do not push out the results of work. */
  readonly count: number;
  /** Memory for the results of all runs, in bytes. */
  readonly memory: number;
}

const defaultLimits: RunLimits = { age: 86_400_000, count: 20_000, memory: 64 << 20 };
const droppedNote = 'The results are no longer kept: those of all runs took more memory than they may use.';
const interruption = 'muster was stopped or killed meanwhile; nothing half-made is left. Send the request again.';
/** The part of the limits that is in use after something was dropped. */
const roomy = 0.9;

/** Keeps runs for a day, within bounds: when there are too many, the oldest finished ones go first; when their results take too much memory, the results do. */
export class Runs implements RunBoard {
  readonly #runs = new Map<string, Run>();
  /** The latest reads, each in the place its number gives. There are many and they live long, so they cost no more than that. */
  readonly #reads: Run[] = [];
  readonly #ids = new NumberedIds();
  readonly #limits: RunLimits;
  readonly #now: () => number;
  readonly #audience: RunAudience | undefined;
  /** Those under way that others hear of, with the nodes they work on. */
  readonly #reported = new Map<Run, readonly string[] | undefined>();
  readonly #counts = new Map<string, RunCount>();
  #begun = 0;
  #memory = 0;

  constructor(limits: RunLimits = defaultLimits, now: () => number = Date.now, audience?: RunAudience) {
    this.#limits = limits;
    this.#now = now;
    this.#audience = audience;
  }

  /** By command, of all that work on nodes or outside the database. */
  get counts(): ReadonlyMap<string, RunCount> {
    return this.#counts;
  }

  /** Those of them that are under way. */
  get underWay(): number {
    return this.#reported.size;
  }

  begin(command: string, user: string, kind: AnyCommand['kind']): Run {
    const number = ++this.#begun;
    const run = newRun(this.#ids.id(number), command, user, this.#now(), kind);
    if (kind === 'query') this.#reads[number % this.#limits.count] = run;
    else {
      this.#runs.set(run.id, run);
      if (this.#runs.size > this.#limits.count) this.#forget();
    }
    return run;
  }

  /** It was allowed and its work begins, which others hear of. */
  start(run: Run, targets: readonly string[] | undefined): void {
    this.#reported.set(run, targets);
    this.#audience?.run(newsOf(run), targets, run.owner);
  }

  /** Notes how far the work on a node is. */
  note(run: Run, node: string, sentence: string): void {
    (run.underWay ??= new Map()).set(node, sentence);
  }

  /** Notes one node's result. */
  add(run: Run, result: NodeResult): void {
    run.underWay?.delete(result.node);
    if ('error' in result) run.failed++;
    else run.ok++;
    if ('output' in result && result.output?.cut) run.cut = (run.cut ?? 0) + 1;
    this.#reportProgress(run);
    const kept = (run.results ??= []);
    if (kept === 'dropped') return;
    const shown = shownResult(result);
    const weight = weightOf(shown);
    kept.push(shown);
    run.weight += weight;
    this.#memory += weight;
    if (this.#memory > this.#limits.memory) this.#forgetResults(run);
  }

  /** Notes what long work reports. */
  report(run: Run, batch: Batch): void {
    const progress = run.progress!;
    progress.add(batch);
    this.#reportProgress(run);
    this.#memory += progress.weight - run.weight;
    run.weight = progress.weight;
    if (this.#memory > this.#limits.memory) this.#forgetResults(run);
  }

  finish(run: Run, errorcode: number, end?: RunEnd): void {
    run.finished = this.#now();
    run.errorcode = errorcode;
    run.end = end && { ...end, error: end.error.map(sentenceWithoutSecrets) };
    run.progress?.end();
    if (this.#reported.size > 0 && this.#reported.has(run)) this.#reportEnd(run);
  }

  /** Long work of an earlier muster. */
  restore({ run: id, command, user, started, interrupted }: RunRecord, isOwned: boolean): void {
    const run = newRun(id, command, user, started, 'change');
    run.owner.isOwned = isOwned;
    run.finished = interrupted;
    run.errorcode = errorKinds.unavailable.code;
    run.end = { state: 'interrupted', error: [interruption] };
    this.#runs.set(id, run);
  }

  /** An account was made or removed: runs of that name are nobody's from now on, and those with full rights see them. */
  disown(user: string): void {
    for (const runs of [this.#runs.values(), this.#reads])
      for (const run of runs) if (run?.user === user) run.owner.isOwned = false;
  }

  /** Nodes that the user's commands are at work on. */
  nodesUnderWay(user: string): number {
    let nodes = 0;
    for (const run of this.#runs.values()) if (run.finished === undefined && isOf(run, user)) nodes += run.nodes;
    return nodes;
  }

  show(id: string, user: string, seesAll: boolean): unknown {
    const run = this.#find(id, user, seesAll);
    const { results, progress, underWay, end, cut, messages, notes } = run;
    return {
      ...headOf(run),
      cut,
      messages,
      notes,
      ...(end ? { error: end.error } : {}),
      ...(progress ? { lines: [...progress.lines], linesBefore: progress.linesBefore } : {}),
      ...(underWay?.size ? { underWay: Object.fromEntries(underWay) } : {}),
      ...(results === 'dropped' ? { note: droppedNote } : results ? { results: [...results] } : {}),
    };
  }

  /** The newest first. Readings of the database are not among them: each has ended before anybody could ask. */
  list({ state, user: only, command, limit }: RunFilter, user: string, seesAll: boolean): readonly RunHead[] {
    const found: RunHead[] = [];
    for (const run of [...this.#runs.values()].reverse()) {
      if (found.length === limit) break;
      if (!seesAll && !isOf(run, user)) continue;
      if (only !== undefined && run.user !== only) continue;
      if (command !== undefined && run.command !== command) continue;
      if (state !== undefined && stateOf(run) !== state) continue;
      found.push(headOf(run));
    }
    return found;
  }

  cancel(id: string, user: string, seesAll: boolean): void {
    const run = this.#find(id, user, seesAll);
    if (run.finished !== undefined) throw new Fault('invalid', `Run ${id} has ended; there is nothing to cancel.`);
    if (!run.abort)
      throw new Fault('invalid', `Run ${id} cannot be cancelled: ${run.command} is done at once or not at all.`);
    run.abort.abort(new Fault('invalid', 'The run was cancelled.'));
  }

  /** Drops what is too old; called now and then. */
  expire(): void {
    const oldest = this.#now() - this.#limits.age;
    for (const run of this.#runs.values()) if (run.finished !== undefined && run.finished < oldest) this.#drop(run);
  }

  #reportProgress(run: Run): void {
    this.#audience?.progress(run.id, () => newsOf(run), this.#reported.get(run), run.owner);
  }

  #reportEnd(run: Run): void {
    const targets = this.#reported.get(run);
    this.#reported.delete(run);
    const { ok = 0, failed = 0, nodesOk = 0, nodesFailed = 0 } = this.#counts.get(run.command) ?? {};
    const isOk = run.errorcode === 0;
    this.#counts.set(run.command, {
      ok: ok + Number(isOk),
      failed: failed + Number(!isOk),
      nodesOk: nodesOk + run.ok,
      nodesFailed: nodesFailed + run.failed,
    });
    this.#audience?.run(newsOf(run), targets, run.owner);
  }

  #find(id: string, user: string, seesAll: boolean): Run {
    const run = this.#runs.get(id) ?? this.#read(id);
    if (!run || (!isOf(run, user) && !seesAll))
      throw new Fault('unknown-object', `There is no run "${id}" of yours; runs are kept for a day.`);
    return run;
  }

  #read(id: string): Run | undefined {
    const number = this.#ids.countOf(id);
    const run = number === undefined ? undefined : this.#reads[number % this.#limits.count];
    const isOld = run?.finished !== undefined && run.finished < this.#now() - this.#limits.age;
    return run?.id === id && !isOld ? run : undefined;
  }

  /** Drops many at once: the way to the oldest leads past all that were dropped since the map was last rebuilt. */
  #forget(): void {
    const count = this.#limits.count * roomy;
    for (const run of this.#runs.values()) {
      if (this.#runs.size <= count) return;
      if (run.finished !== undefined) this.#drop(run);
    }
  }

  /** Those of the oldest runs go first; those of work under way only if that is not enough, and the latest last. */
  #forgetResults(latest: Run): void {
    const enough = this.#limits.memory * roomy;
    for (const isFinished of [true, false]) {
      for (const run of this.#runs.values()) {
        if (this.#memory <= enough) return;
        if (run !== latest && (run.finished !== undefined) === isFinished) this.#dropResults(run);
      }
    }
    if (this.#memory > this.#limits.memory) this.#dropResults(latest);
  }

  #dropResults(run: Run): void {
    if (!run.results && !run.progress) return;
    this.#memory -= run.weight;
    run.weight = 0;
    if (run.results) run.results = 'dropped';
    run.progress?.drop();
  }

  #drop(run: Run): void {
    this.#runs.delete(run.id);
    this.#memory -= run.weight;
  }
}

const isOf = (run: Run, user: string): boolean => run.user === user && run.owner.isOwned;

const newRun = (id: string, command: string, user: string, started: number, kind: AnyCommand['kind']): Run => ({
  id,
  command,
  user,
  owner: { user, isOwned: true },
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
  progress: kind === 'long' ? new RunProgress() : undefined,
  end: undefined,
  abort: kind === 'per-node' || kind === 'long' ? new AbortController() : undefined,
});

const stateOf = ({ finished, end }: Run): RunHead['state'] =>
  finished === undefined ? 'running' : (end?.state ?? 'finished');

/** Who does what, since when, and how far it is. */
function headOf(run: Run): RunHead {
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

function newsOf({ id, command, user, nodes, ok, failed, progress, finished, errorcode, end }: Run): RunNews {
  const isBegun = finished === undefined && ok + failed === 0 && !progress?.now.line;
  return {
    run: id,
    state: finished !== undefined ? (end?.state ?? 'finished') : isBegun ? 'begun' : 'running',
    command,
    user,
    nodes,
    ok,
    failed,
    ...(progress ? { progress: progress.now } : {}),
    ...(finished === undefined ? {} : { errorcode }),
    ...(end && end.error.length > 0 ? { error: end.error } : {}),
  };
}

/** What an object, an array or a text takes besides its content, and a member besides its value, in bytes; rough on purpose. */
const perObject = 48;
const perText = 16;
const perMember = 16;

/** How much memory a result takes, roughly, in bytes. Names of members are shared by the results of a run. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return perText + value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let weight = perObject;
  if (Array.isArray(value)) for (const member of value) weight += perMember + weightOf(member);
  // What is weighed has no members but its own. A list of them would cost more than the rest.
  else for (const name in value) weight += perMember + weightOf((value as Readonly<Record<string, unknown>>)[name]);
  return weight;
}
