import { cancelled, onAbort } from '../core/waiting.ts';

/** At most so many machines of a rack begin to draw power within so many seconds. Plain data: it goes with the target of a node. */
export interface RackPace {
  readonly rack: string;
  readonly machines: number;
  readonly seconds: number;
}

export const paceText = ({ rack, machines, seconds }: RackPace): string =>
  `${machines} of rack ${rack} in ${seconds} s`;

interface Rack {
  /** When the last ones began, oldest first. */
  readonly begun: number[];
  readonly waiting: Set<() => void>;
  timer: NodeJS.Timeout | undefined;
}

/** Who may begin in which rack now, in the order in which they came. */
export class RackPaces {
  readonly #racks = new Map<string, Rack>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Resolves when it may begin; `waits` is called if that is not at once, with how many come before. */
  turn(pace: RackPace, signal: AbortSignal, waits: (before: number) => void): Promise<void> {
    if (signal.aborted) return Promise.reject(cancelled(signal));
    const rack = this.#rackOf(pace.rack);
    if (rack.waiting.size === 0 && this.#begins(rack, pace)) return Promise.resolve();
    waits(rack.waiting.size);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        ignore();
        resolve();
      };
      const ignore = onAbort(signal, () => {
        rack.waiting.delete(begin);
        reject(cancelled(signal));
      });
      rack.waiting.add(begin);
      this.#wakeLater(rack, pace);
    });
  }

  #rackOf(name: string): Rack {
    let rack = this.#racks.get(name);
    if (!rack) this.#racks.set(name, (rack = { begun: [], waiting: new Set(), timer: undefined }));
    return rack;
  }

  #begins({ begun }: Rack, { machines, seconds }: RackPace): boolean {
    const now = this.#now();
    while (begun.length > 0 && begun[0]! <= now - seconds * 1_000) begun.shift();
    if (begun.length >= machines) return false;
    begun.push(now);
    return true;
  }

  #wakeLater(rack: Rack, pace: RackPace): void {
    if (rack.timer !== undefined) return;
    const until = (rack.begun[0] ?? 0) + pace.seconds * 1_000 - this.#now();
    rack.timer = setTimeout(() => this.#wake(rack, pace), Math.max(1, Math.ceil(until)));
    rack.timer.unref();
  }

  #wake(rack: Rack, pace: RackPace): void {
    rack.timer = undefined;
    for (const begin of rack.waiting) {
      if (!this.#begins(rack, pace)) break;
      rack.waiting.delete(begin);
      begin();
    }
    if (rack.waiting.size > 0) this.#wakeLater(rack, pace);
    else if (rack.begun.length === 0) this.#racks.delete(pace.rack);
  }
}
