import type { Snapshot } from '../../database/snapshot.ts';
import type { SortedMap } from '../../database/sorted-map.ts';
import type { Row } from '../../database/tables.ts';
import type { Labelled, SensorLimits } from '../../drivers/index.ts';
import { goneNodes } from '../../objects/gone-nodes.ts';
import { measuresIn, type SeriesKind } from './measures.ts';
import type { ShownSeries, Span } from './node-series.ts';
import { Sampler, type SamplerServices } from './sampler.ts';
import { SeriesMemory } from './series-memory.ts';
import type { SeriesSettings } from './settings.ts';

export interface SeriesView {
  readonly kinds: readonly SeriesKind[];
  readonly show: 'points' | 'last' | 'hottest';
  readonly span: Span;
}

const sweepEvery = 60_000;
/** What is older is not how hot a node is. */
const hotFor = 1_200_000;

/** What nodes measured in the last day, in the memory of this server. */
export class VitalsSeries {
  readonly #memory: SeriesMemory;
  readonly #sampler: Sampler;
  readonly #services: SamplerServices;
  #rows: SortedMap<Row>;
  #unsubscribe: (() => void) | undefined;
  #sweeping: NodeJS.Timeout | undefined;
  #isFull = false;

  constructor({ nodes: range, seconds, megabytes }: SeriesSettings, services: SamplerServices) {
    this.#services = services;
    this.#memory = new SeriesMemory(megabytes * 1_000_000);
    this.#rows = services.store.current.rows('nodelist');
    this.#sampler = new Sampler({ range, seconds, record: (...read) => this.#keep(...read) }, services);
  }

  start(): void {
    this.#unsubscribe = this.#services.store.subscribe((current) => this.#forgetRemoved(current));
    this.#forgetRemoved(this.#services.store.current);
    this.#sweeping = setInterval(() => this.#memory.sweep(Date.now()), sweepEvery).unref();
    this.#sampler.start();
  }

  close(): void {
    this.#unsubscribe?.();
    clearInterval(this.#sweeping);
    this.#sampler.close();
  }

  watch(nodes: readonly string[]): void {
    this.#sampler.watch(nodes);
  }

  /** Somebody has read sensors of the node. `isWhole`: all that series are kept of. */
  record(node: string, readings: Labelled, isWhole: boolean): void {
    this.#keep(node, readings);
    if (isWhole) this.#sampler.wasRead(node);
  }

  /** Undefined: nothing is known of it. */
  shown(node: string, { kinds, show, span }: SeriesView): ShownSeries | undefined {
    const series = this.#memory.of(node);
    const problem = this.#sampler.problemOf(node);
    const hottest = show === 'hottest' ? series?.hottest(span.now - hotFor) : undefined;
    const isShown = show === 'hottest' ? (label: string) => label === hottest : () => true;
    const known = series?.shown(
      ({ label, kind }) => (kinds.length === 0 || kinds.includes(kind)) && isShown(label),
      show === 'points' ? span : undefined,
    );
    if (show === 'hottest' && Object.keys(known?.sensors ?? {}).length === 0) return undefined;
    if (!known && problem === undefined) return undefined;
    return { ...(problem === undefined ? {} : { problem }), ...(known ?? { sensors: {} }) };
  }

  #keep(node: string, readings: Labelled, limits?: Readonly<Record<string, SensorLimits>>): void {
    // It may have been removed since it was asked.
    if (!this.#rows.has(node)) return;
    const fits = this.#memory.record(node, measuresIn(readings), Date.now(), this.#sampler.isWatched(node));
    if (limits) this.#memory.of(node)?.limit(limits);
    if (!fits && !this.#isFull)
      this.#services.log.warn(
        `The memory for series is full with ${this.#memory.sensors} sensors; raise series.megabytes, or name fewer nodes in series.nodes.`,
      );
    this.#isFull ||= !fits;
  }

  #forgetRemoved(current: Snapshot): void {
    const rows = current.rows('nodelist');
    if (rows === this.#rows) return;
    for (const node of goneNodes(this.#rows, rows).removed) {
      this.#memory.drop(node);
      this.#sampler.forget(node);
    }
    this.#rows = rows;
  }
}
