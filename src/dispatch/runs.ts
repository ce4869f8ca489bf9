import type { AnyCommand, RunFilter, RunHead } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { RunNews, RunOwner } from '../core/event-kinds.ts';
import { NumberedIds } from '../core/numbered-ids.ts';
import { type NodeResult, shownResult } from '../core/results.ts';
import type { ServerLoad } from '../database/servers.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import type { Batch } from '../work/index.ts';
import {
  cannotBeCancelled,
  detailsOf,
  hasEnded,
  headOf,
  isOf,
  newRun,
  newsOf,
  noSuchRun,
  type Run,
  type RunEnd,
  shownRun,
  stateOf,
} from './run.ts';

/** Who hears of runs. */
export interface RunAudience {
  /** Whether anybody would hear. */
  readonly isHeard: boolean;
  run(news: RunNews, targets: readonly string[] | undefined, owner: RunOwner): void;
  /** Comes often; what it is then is asked for when it is sent. */
  progress(run: string, news: () => RunNews, targets: readonly string[] | undefined, owner: RunOwner): void;
}

/** Who keeps runs for others, and for longer than this process lives. It is asked often and takes its time. */
export interface RunKeeper {
  /** Its work begins, on these nodes; others hear of it. */
  started(run: Run, targets: readonly string[] | undefined): void;
  changed(run: Run): void;
  /** Nothing of it is kept any longer. */
  forgotten(run: Run): void;
  /** It goes on for so long that what was kept of it has to be kept again. */
  renewed(run: Run): void;
  /** Resolves when others know of it, or cannot be informed. */
  kept(run: Run): Promise<void>;
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

export interface RunsOptions {
  readonly limits?: RunLimits;
  readonly now?: () => number;
  readonly audience?: RunAudience;
  readonly keeper?: RunKeeper;
}

/** Milliseconds that a run is kept. */
export const keptFor = 86_400_000;
const defaultLimits: RunLimits = { age: keptFor, count: 20_000, memory: 64 << 20 };
/** The part of the limits that is in use after something was dropped. */
const roomy = 0.9;

/** Keeps the runs of this server for a day, within bounds: when there are too many, the oldest finished ones go first; when their results take too much memory, the results do. */
export class Runs {
  readonly #runs = new Map<string, Run>();
  /** The latest reads, each in the place its number gives. There are many and they live long, so they cost no more than that. */
  readonly #reads: Run[] = [];
  readonly #ids = new NumberedIds();
  readonly #limits: RunLimits;
  readonly #now: () => number;
  readonly #audience: RunAudience | undefined;
  readonly #keeper: RunKeeper | undefined;
  /** Those under way that others hear of, with the nodes they work on. */
  readonly #reported = new Map<Run, readonly string[] | undefined>();
  readonly #counts = new Map<string, RunCount>();
  #begun = 0;
  #memory = 0;

  constructor({ limits = defaultLimits, now = Date.now, audience, keeper }: RunsOptions = {}) {
    this.#limits = limits;
    this.#now = now;
    this.#audience = audience;
    this.#keeper = keeper;
  }

  /** By command, of all that work on nodes or outside the database. */
  get counts(): ReadonlyMap<string, RunCount> {
    return this.#counts;
  }

  /** Those of them that are under way. */
  get underWay(): number {
    return this.#reported.size;
  }

  /** Those and their nodes, as lists of servers show them. */
  get load(): ServerLoad {
    let nodes = 0;
    for (const run of this.#reported.keys()) nodes += run.nodes;
    return { jobs: this.#reported.size, nodes };
  }

  begin(command: string, user: string, kind: AnyCommand['kind'], by?: string): Run {
    const number = ++this.#begun;
    const run = newRun(this.#ids.id(number), command, user, this.#now(), kind, by);
    if (kind === 'query') this.#reads[number % this.#limits.count] = run;
    else {
      this.#runs.set(run.id, run);
      this.#keeper?.changed(run);
      if (this.#runs.size > this.#limits.count) this.#forget();
    }
    return run;
  }

  /** It was allowed and its work begins, which others hear of. */
  start(run: Run, targets: readonly string[] | undefined): void {
    this.#reported.set(run, targets);
    this.#audience?.run(news(run), targets, run.owner);
    this.#keeper?.started(run, targets);
  }

  /** Resolves when the run can be found at all servers. */
  async kept(run: Run): Promise<void> {
    await this.#keeper?.kept(run);
  }

  /** Notes how far the work on a node is. */
  note(run: Run, node: string, sentence: string): void {
    (run.underWay ??= new Map()).set(node, sentence);
    this.#keeper?.changed(run);
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
    if (this.#runs.has(run.id)) this.#keeper?.changed(run);
    if (this.#reported.size > 0 && this.#reported.has(run)) this.#reportEnd(run);
  }

  /** An account was made or removed: runs of that name are nobody's from now on, and those with full rights see them. */
  disown(user: string): void {
    for (const runs of [this.#runs.values(), this.#reads])
      for (const run of runs) {
        if (run?.user !== user || !run.owner.isOwned) continue;
        run.owner.isOwned = false;
        if (this.#runs.has(run.id)) this.#keeper?.changed(run);
      }
  }

  /** Nodes that the user's commands are at work on. */
  nodesUnderWay(user: string): number {
    let nodes = 0;
    for (const run of this.#runs.values()) if (run.finished === undefined && isOf(run, user)) nodes += run.nodes;
    return nodes;
  }

  has(id: string): boolean {
    return this.#runs.has(id) || this.#read(id) !== undefined;
  }

  show(id: string, user: string, seesAll: boolean, by?: string): object {
    const run = this.#find(id, user, seesAll, by);
    const { results, end } = run;
    return shownRun(headOf(run), end?.error ?? [], detailsOf(run), Array.isArray(results) ? [...results] : undefined);
  }

  /** The newest first. Readings of the database are not among them: each has ended before anybody could ask. */
  list(
    { state, user: only, command, limit }: RunFilter,
    user: string,
    seesAll: boolean,
    by?: string,
  ): readonly RunHead[] {
    const found: RunHead[] = [];
    for (const run of [...this.#runs.values()].reverse()) {
      if (found.length === limit) break;
      if (!seesAll && !isOf(run, user, by)) continue;
      if (only !== undefined && run.user !== only) continue;
      if (command !== undefined && run.command !== command) continue;
      if (state !== undefined && stateOf(run) !== state) continue;
      found.push(headOf(run));
    }
    return found;
  }

  cancel(id: string, user: string, seesAll: boolean, by?: string): void {
    const run = this.#find(id, user, seesAll, by);
    if (run.finished !== undefined) throw hasEnded(id);
    if (!run.abort) throw cannotBeCancelled(id, run.command);
    this.#abort(run);
  }

  /** Ends it for somebody whose rights another server has checked. */
  stop(id: string): void {
    const run = this.#runs.get(id);
    if (run?.finished === undefined && run?.abort) this.#abort(run);
  }

  /** Drops what is too old; called now and then. */
  expire(): void {
    const oldest = this.#now() - this.#limits.age;
    for (const run of this.#runs.values()) {
      if (run.finished === undefined) this.#keeper?.renewed(run);
      else if (run.finished < oldest) this.#drop(run);
    }
  }

  #abort(run: Run): void {
    run.abort!.abort(new Fault('invalid', 'The run was cancelled.'));
    void this.#keeper?.kept(run);
  }

  #reportProgress(run: Run): void {
    this.#audience?.progress(run.id, () => news(run), this.#reported.get(run), run.owner);
    this.#keeper?.changed(run);
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
    this.#audience?.run(news(run), targets, run.owner);
  }

  #find(id: string, user: string, seesAll: boolean, by: string | undefined): Run {
    const run = this.#runs.get(id) ?? this.#read(id);
    if (!run || (!isOf(run, user, by) && !seesAll)) throw noSuchRun(id);
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
      if (run.finished === undefined) continue;
      this.#drop(run);
      this.#keeper?.forgotten(run);
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
    this.#keeper?.changed(run);
  }

  #drop(run: Run): void {
    this.#runs.delete(run.id);
    this.#memory -= run.weight;
  }
}

const news = (run: Run): RunNews => newsOf(headOf(run), run.end?.error ?? []);

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
