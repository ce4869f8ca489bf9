import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Store } from '../../database/store.ts';
import type { Devices, Hardware } from '../../drivers/index.ts';
import type { BootNote, BootReports } from '../reports.ts';
import type { MediaRecord } from './media-records.ts';
import { type MediaShelf, ownOf } from './media-shelf.ts';

interface Services {
  readonly shelf: MediaShelf;
  readonly reports: Pick<BootReports, 'subscribe'>;
  readonly store: Pick<Store, 'current'>;
  readonly hardware: Pick<Hardware, 'targets'>;
  readonly devices: Pick<Devices, 'use'>;
  readonly log: Logger;
  /** Told to people who follow the node. */
  notice(nodes: readonly string[], sentence: string): void;
}

/** Milliseconds between looks, to the first further attempt and at most between attempts, and for one attempt. */
const times = { look: 5_000, retry: 5_000, most: 900_000, attempt: 120_000 };
/** A BMC that is away for so many attempts, which is about a day, is left to people. */
const attempts = 100;
/** BMCs at a time. */
const atOnce = 32;

/** What a node itself fetches or reports once its kernel runs: loaders, kernels and initial RAM disks it may also get from the network. */
const ownSteps: ReadonlySet<string> = new Set(['root', 'answer', 'bundle', 'plan', 'overlay']);
const runs = ({ source, step }: BootNote): boolean => source === 'report' || ownSteps.has(step);

/** Ejects boot media as soon as nodes run what is on them, or when their time is over; whatever stops it, it goes on later. */
export class MediaEjector {
  readonly #services: Services;
  readonly #busy = new Set<string>();
  /** When BMCs are asked again that failed at it, and how often that was tried. */
  readonly #later = new Map<string, { readonly at: number; readonly attempt: number }>();
  #stop: () => void = () => undefined;

  constructor(services: Services) {
    this.#services = services;
  }

  follow(): void {
    const { shelf, reports, log } = this.#services;
    const stop = new AbortController();
    const look = (): void => this.#look(stop.signal);
    const unsubscribe = reports.subscribe((node, note) => {
      if (runs(note))
        shelf.end(node).catch((error: unknown) => log.error({ err: error }, 'a medium could not be marked as used'));
    });
    shelf.onEnd = () => void setImmediate(look);
    const timer = setInterval(look, times.look).unref();
    look();
    this.#stop = () => {
      stop.abort(new Fault('unavailable', 'muster is shutting down; try again shortly.'));
      clearInterval(timer);
      unsubscribe();
      shelf.onEnd = () => undefined;
    };
  }

  close(): void {
    this.#stop();
  }

  #look(signal: AbortSignal): void {
    const now = Date.now();
    for (const record of this.#services.shelf.kept) {
      if (this.#busy.size >= atOnce) return;
      const { id, until, isOver = false } = record;
      const isDue = isOver || (until !== undefined && Date.parse(until) <= now);
      if (!isDue || this.#busy.has(id) || (this.#later.get(id)?.at ?? 0) > now) continue;
      this.#busy.add(id);
      void this.#eject(record, signal).finally(() => {
        this.#busy.delete(id);
        if (!signal.aborted && this.#busy.size === atOnce - 1) this.#look(signal);
      });
    }
  }

  async #eject(record: MediaRecord, signal: AbortSignal): Promise<void> {
    const { shelf, store, hardware, devices, log } = this.#services;
    const { node, id, user } = record;
    try {
      const target = await hardware.targets(store.current, 'rmedia', 'media')(node);
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(times.attempt)]);
      const by = { command: 'rmedia', user, signal: bounded, begun: () => undefined };
      await devices.use(target, 'media', by, (media) =>
        media.eject({ own: ownOf(record), drive: undefined, force: false }, bounded),
      );
      this.#later.delete(id);
      await shelf.forget(record);
      log.info(`the boot medium of ${node} was ejected`);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) log.error({ err: error }, `the boot medium of ${node} could not be ejected`);
      // Somebody else has put in another one: that of muster is gone.
      const isGone = error instanceof Fault && error.kind === 'conflict';
      await (isGone ? this.#giveUp(record, undefined) : this.#again(record, error));
    }
  }

  async #again(record: MediaRecord, error: unknown): Promise<void> {
    const { id, node } = record;
    const attempt = (this.#later.get(id)?.attempt ?? 0) + 1;
    const reason = error instanceof Fault ? error.message : 'see the log of muster.';
    if (attempt >= attempts || this.#services.store.current.get('nodelist', node) === undefined) {
      await this.#giveUp(record, reason);
      return;
    }
    if (attempt === 1) this.#services.log.warn(`the boot medium of ${node} was not ejected yet: ${reason}`);
    const wait = Math.min(times.retry * 2 ** Math.min(attempt - 1, 10), times.most);
    this.#later.set(id, { at: Date.now() + wait, attempt });
  }

  async #giveUp(record: MediaRecord, reason: string | undefined): Promise<void> {
    const { shelf, notice, log } = this.#services;
    this.#later.delete(record.id);
    try {
      await shelf.forget(record);
    } catch (error) {
      log.error({ err: error }, 'a record of a medium could not be removed');
    }
    if (reason !== undefined)
      notice(
        [record.node],
        `The boot medium in drive ${record.drive} of ${record.node} could not be ejected: ${reason}`,
      );
  }
}
