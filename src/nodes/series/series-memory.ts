import type { Measure } from './measures.ts';
import { bytesOfSensor, kept, NodeSeries } from './node-series.ts';

/** Milliseconds for which nobody has read a node whose series may make room for others. */
const idle = 3_600_000;

/** The series of all nodes, within a bound. */
export class SeriesMemory {
  readonly #most: number;
  /** Those recorded longest ago come first. */
  readonly #nodes = new Map<string, NodeSeries>();
  #sensors = 0;

  constructor(bytes: number) {
    this.#most = Math.floor(bytes / bytesOfSensor);
  }

  get sensors(): number {
    return this.#sensors;
  }

  of(node: string): NodeSeries | undefined {
    return this.#nodes.get(node);
  }

  /** False: there is no room for all of it. `comesFirst`: somebody looks at it. */
  record(node: string, measures: readonly Measure[], now: number, comesFirst: boolean): boolean {
    if (measures.length === 0) return true;
    const series = this.#nodes.get(node) ?? new NodeSeries();
    const size = series.size;
    this.#nodes.delete(node);
    const fits = this.#makeRoom(series.newIn(measures), now, comesFirst);
    if (size === 0 && !fits) return false;
    series.record(measures, now, fits);
    this.#nodes.set(node, series);
    this.#sensors += series.size - size;
    return fits;
  }

  drop(node: string): void {
    this.#sensors -= this.#nodes.get(node)?.size ?? 0;
    this.#nodes.delete(node);
  }

  /** Forgets what is older than a day. */
  sweep(now: number): void {
    for (const [node, { time }] of this.#nodes) {
      if (time > now - kept) return;
      this.drop(node);
    }
  }

  #makeRoom(more: number, now: number, comesFirst: boolean): boolean {
    for (const [node, { time }] of this.#nodes) {
      if (this.#sensors + more <= this.#most) break;
      if (!comesFirst && time > now - idle) break;
      this.drop(node);
    }
    return this.#sensors + more <= this.#most;
  }
}
