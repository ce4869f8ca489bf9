import { unwatchAbort, watchAbort } from './aborts.ts';

/** Lets one piece of work run at a time, in the order they came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** Turns by name: work on different things goes on at the same time. */
export class NamedTurns {
  /** When all that asked for a turn so far has had it or has left. */
  readonly #ends = new Map<string, Promise<unknown>>();

  /** Waits no longer when `signal` says so, and throws its reason; work that has begun hears of it by itself. */
  async take<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#ends.get(name);
    const own = Promise.withResolvers<void>();
    const end = Promise.all([before, own.promise]).finally(() => {
      if (this.#ends.get(name) === end) this.#ends.delete(name);
    });
    this.#ends.set(name, end);
    try {
      if (before) await orAborted(before, signal);
      signal.throwIfAborted();
      return await work();
    } finally {
      own.resolve();
    }
  }
}

async function orAborted(event: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const left = Promise.withResolvers<void>();
  const watch = { aborted: (): void => left.resolve() };
  watchAbort(signal, watch);
  if (!signal.aborted) await Promise.race([event, left.promise]);
  unwatchAbort(signal, watch);
}
