import { Fault } from '../../core/errors.ts';
import { limiter } from '../../core/limiter.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import type { Devices, Hardware, Labelled, SensorLimits } from '../../drivers/index.ts';
import { knownNodes } from '../../objects/cluster.ts';
import { seriesKinds } from './measures.ts';

export interface SamplerServices {
  readonly store: Store;
  readonly hardware: Hardware;
  readonly devices: Pick<Devices, 'read'>;
  readonly rangeFiles: string | undefined;
  readonly log: Logger;
}

interface Sampling {
  /** The nodes that are read all the time. */
  readonly range: string | undefined;
  readonly seconds: number;
  /** `limits`: of all sensors, where they were read too. */
  record(node: string, readings: Labelled, limits?: Readonly<Record<string, SensorLimits>>): void;
}

/** Milliseconds between two readings of a node while somebody looks at it. */
const watchedEvery = 60_000;
/** For so long after somebody has looked. */
const watchedFor = 180_000;
export const mostWatched = 500;
const tick = 2_000;
/** The nodes of the setting begin one after another. */
const apart = 10;
/** Nodes that do not answer are read up to so many times less often. */
const leastOften = 16;
const atOnce = 64;
/** Milliseconds after which it is looked again which nodes the setting means. */
const resolvedFor = 30_000;
const longestProblem = 300;
/** They hardly ever change. */
const limitsEvery = 3_600_000;

interface Tried {
  readonly time: number;
  readonly failures: number;
  readonly problem: string | undefined;
  /** When its limits were read. */
  readonly limited?: number | undefined;
}

/** Reads sensors: of nodes that somebody looks at, and of those that a setting names. */
export class Sampler {
  readonly #sampling: Sampling;
  readonly #services: SamplerServices;
  readonly #slots = limiter(atOnce);
  readonly #watched = new Map<string, number>();
  readonly #tried = new Map<string, Tried>();
  readonly #reading = new Set<string>();
  readonly #over = new AbortController();
  #always: readonly string[] = [];
  #alwaysOf: Snapshot | undefined;
  #resolved = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #trouble = '';

  constructor(sampling: Sampling, services: SamplerServices) {
    this.#sampling = sampling;
    this.#services = services;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(), tick).unref();
    this.#look();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#over.abort(new Fault('unavailable', 'muster is being stopped.'));
  }

  /** Somebody looks at these nodes: from now on they are read each minute, for a while. */
  watch(nodes: readonly string[]): void {
    const until = performance.now() + watchedFor;
    for (const node of nodes) {
      this.#watched.delete(node);
      this.#watched.set(node, until);
    }
    // Those that were looked at longest ago.
    for (const node of this.#watched.keys()) {
      if (this.#watched.size <= mostWatched) break;
      this.#watched.delete(node);
    }
    if (this.#timer) this.#look();
  }

  isWatched(node: string): boolean {
    return (this.#watched.get(node) ?? 0) > performance.now();
  }

  /** Somebody else has read it just now. */
  wasRead(node: string): void {
    const { limited } = this.#tried.get(node) ?? {};
    this.#tried.set(node, { time: performance.now(), failures: 0, problem: undefined, limited });
  }

  problemOf(node: string): string | undefined {
    return this.#tried.get(node)?.problem;
  }

  forget(node: string): void {
    this.#watched.delete(node);
    this.#tried.delete(node);
  }

  #look(): void {
    const now = performance.now();
    for (const [node, until] of this.#watched) {
      if (until <= now) this.#watched.delete(node);
      else this.#readIfDue(node, watchedEvery, now);
    }
    const usual = Math.max(watchedEvery, this.#sampling.seconds * 1_000);
    for (const node of this.#nodesOfSetting(usual, now)) {
      const failures = this.#tried.get(node)?.failures ?? 0;
      this.#readIfDue(node, usual * Math.min(leastOften, 2 ** failures), now);
    }
  }

  #readIfDue(node: string, every: number, now: number): void {
    if (this.#reading.has(node) || (this.#tried.get(node)?.time ?? -Infinity) + every > now) return;
    this.#reading.add(node);
    void this.#slots(() => this.#read(node)).finally(() => this.#reading.delete(node));
  }

  async #read(node: string): Promise<void> {
    const { store, hardware, devices } = this.#services;
    const { signal } = this.#over;
    const before = this.#tried.get(node);
    const time = performance.now();
    try {
      signal.throwIfAborted();
      const target = await hardware.targets(store.current, 'rvitals', 'vitals')(node);
      const by = { command: 'rvitals', user: '', signal, begun: () => undefined };
      const isLimitDue = (before?.limited ?? -Infinity) + limitsEvery < time;
      await devices.read(target, 'vitals', by, async (vitals) => {
        const readings = await vitals.read(seriesKinds, signal);
        const limits = isLimitDue ? await vitals.limits?.(seriesKinds, signal) : undefined;
        this.#sampling.record(node, readings, limits);
      });
      this.#tried.set(node, { time, failures: 0, problem: undefined, limited: isLimitDue ? time : before?.limited });
    } catch (error) {
      if (signal.aborted) return;
      const problem = (error instanceof Error ? error.message : String(error)).slice(0, longestProblem);
      this.#tried.set(node, { time, failures: (before?.failures ?? 0) + 1, problem });
    }
    if (!store.current.get('nodelist', node)) this.forget(node);
  }

  #nodesOfSetting(usual: number, now: number): readonly string[] {
    const { range } = this.#sampling;
    const { store, log, rangeFiles } = this.#services;
    if (range === undefined || this.#alwaysOf === store.current || now < this.#resolved + resolvedFor)
      return this.#always;
    this.#resolved = now;
    this.#alwaysOf = store.current;
    try {
      this.#always = knownNodes(store.current, range, { rangeFiles });
      this.#trouble = '';
    } catch (error) {
      this.#always = [];
      const trouble = error instanceof Error ? error.message : String(error);
      if (trouble !== this.#trouble) log.warn(`The nodes of the setting series.nodes are not read: ${trouble}`);
      this.#trouble = trouble;
    }
    const step = Math.min(apart, usual / Math.max(1, this.#always.length));
    for (const [i, node] of this.#always.entries())
      if (!this.#tried.has(node))
        this.#tried.set(node, { time: now - usual + i * step, failures: 0, problem: undefined });
    return this.#always;
  }
}
