import { NamedPlaces } from './places.ts';

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
  readonly #places = new NamedPlaces(1);

  /** Waits no longer when `signal` says so, and throws its reason; work that has begun hears of it by itself. */
  async take<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    return this.#places.take(name, signal, work);
  }
}
