import type { EventData } from '../view.ts';

/** Of one hook. */
export interface QueueLimits {
  readonly events: number;
  readonly bytes: number;
  /** Events of one push. */
  readonly together: number;
  /** Tries until it is given up, and milliseconds before the second; each next one waits twice as long, up to the longest. */
  readonly tries: number;
  readonly firstWait: number;
  readonly longestWait: number;
}

export const usualLimits: QueueLimits = {
  events: 10_000,
  bytes: 4 << 20,
  together: 100,
  tries: 12,
  firstWait: 1_000,
  longestWait: 300_000,
};

/** Events on their way to one receiver, one push at a time and in their order. What is too much is dropped, the oldest first, and reported as a gap. */
export class HookQueue {
  readonly #limits: QueueLimits;
  readonly #deliver: (events: readonly string[]) => Promise<void>;
  readonly #failed: (error: unknown, isGivenUp: boolean) => void;
  #queue: string[] = [];
  #bytes = 0;
  #lost = 0;
  #isWorking = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  readonly counts = { delivered: 0, failed: 0, dropped: 0 };

  constructor(
    deliver: (events: readonly string[]) => Promise<void>,
    failed: (error: unknown, isGivenUp: boolean) => void,
    limits: QueueLimits = usualLimits,
  ) {
    this.#deliver = deliver;
    this.#failed = failed;
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  add(events: readonly EventData[]): void {
    if (this.#isClosed) return;
    for (const { data } of events) {
      this.#queue.push(data);
      this.#bytes += data.length;
    }
    let over = 0;
    while (this.#queue.length - over > this.#limits.events || this.#bytes > this.#limits.bytes)
      this.#bytes -= this.#queue[over++]!.length;
    if (over > 0) this.#forget(over);
    if (!this.#isWorking) void this.#work();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#queue = [];
  }

  #forget(count: number): void {
    this.#queue = this.#queue.slice(count);
    this.#lost += count;
    this.counts.dropped += count;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    while (this.#queue.length > 0 && !this.#isClosed) {
      const lost = this.#lost;
      const some = this.#queue.slice(0, this.#limits.together);
      this.#queue = this.#queue.slice(some.length);
      for (const data of some) this.#bytes -= data.length;
      this.#lost = 0;
      const gap =
        lost === 0
          ? []
          : [JSON.stringify({ kind: 'gap', message: `${lost} events were too many for this hook and were dropped.` })];
      if (!(await this.#tried([...gap, ...some]))) {
        this.#lost += lost + some.length;
        this.counts.dropped += some.length;
      } else this.counts.delivered += some.length;
    }
    this.#isWorking = false;
  }

  async #tried(events: readonly string[]): Promise<boolean> {
    const { tries, firstWait, longestWait } = this.#limits;
    for (let tried = 1; !this.#isClosed; tried++) {
      try {
        await this.#deliver(events);
        return true;
      } catch (error) {
        this.counts.failed++;
        this.#failed(error, tried >= tries);
        if (tried >= tries) return false;
        const wait = Math.min(firstWait * 2 ** (tried - 1), longestWait);
        await new Promise<void>((resolve) => (this.#timer = setTimeout(resolve, wait).unref()));
      }
    }
    return false;
  }
}
