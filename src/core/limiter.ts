import { unwatchAbort, watchAbort } from './waiting.ts';

/** Runs pieces of work, at most so many at a time, in the order they are given. */
type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

export function limiter(width: number): Limiter {
  let queue: (() => void)[] = [];
  /** How many of the queue have had their turn; taking each out of a long list would cost more than the rest. */
  let served = 0;
  let busy = 0;
  const next = (): void => {
    if (served < queue.length) queue[served++]!();
    else {
      busy--;
      queue = [];
      served = 0;
    }
  };
  return async (work) => {
    if (busy < width) busy++;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      next();
    }
  };
}

/** Lets a bounded number of pieces of work of each name run at a time, in the order they came. */
export class NamedSlots {
  readonly #width: number;
  readonly #busy = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(width: number) {
    this.#width = width;
  }

  /** Waits no longer when `signal` says so, and throws its reason; work that has begun hears of it by itself. */
  async take<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const busy = this.#busy.get(name) ?? 0;
    if (busy < this.#width) this.#busy.set(name, busy + 1);
    else await this.#wait(name, signal);
    try {
      return await work();
    } finally {
      this.#leave(name);
    }
  }

  /** Who leaves hands over the slot. */
  #wait(name: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting);
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        unwatchAbort(signal, watch);
        resolve();
      };
      const watch = {
        aborted: (): void => {
          waiting.delete(enter);
          reject(signal.reason as Error);
        },
      };
      waiting.add(enter);
      watchAbort(signal, watch);
    });
  }

  #leave(name: string): void {
    const waiting = this.#waiting.get(name);
    const [next] = waiting ?? [];
    if (next) {
      waiting!.delete(next);
      next();
      return;
    }
    this.#waiting.delete(name);
    const busy = this.#busy.get(name)! - 1;
    if (busy > 0) this.#busy.set(name, busy);
    else this.#busy.delete(name);
  }
}
