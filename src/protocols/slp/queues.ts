type Work = () => Promise<void>;

/** Work in one queue per key: what is slow delays only what waits behind it. Work must not fail. */
export class Queues {
  readonly #queues = new Map<string, Work[]>();
  #whenIdle: (() => void)[] = [];

  add(key: string, work: Work): void {
    const queue = this.#queues.get(key);
    if (queue) queue.push(work);
    else {
      const begun = [work];
      this.#queues.set(key, begun);
      void this.#drain(key, begun);
    }
  }

  idle(): Promise<void> {
    if (this.#queues.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  async #drain(key: string, queue: Work[]): Promise<void> {
    // The queue grows while this loop runs.
    for (const work of queue) await work();
    this.#queues.delete(key);
    if (this.#queues.size > 0) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }
}
