import type { Invocation } from '../invocation.ts';

const interval = 200;

/** A line at the bottom of a terminal: how many nodes are done, failed and left, and how fast it goes. None where output is piped. */
export class ProgressLine {
  readonly #invocation: Invocation;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #total: number | undefined;
  #done = 0;
  #failed = 0;
  #shown = false;

  constructor(invocation: Invocation, total: Promise<number | undefined>) {
    this.#invocation = invocation;
    if (!invocation.terminal.stderr || !invocation.terminal.stdout) return;
    void total.then((count) => (this.#total = count));
    this.#timer = setInterval(() => this.#show(), interval);
    this.#timer.unref();
  }

  count(failed: boolean): void {
    this.#done += 1;
    if (failed) this.#failed += 1;
  }

  /** Takes it away, so that a line can be written where it was. */
  clear(): void {
    if (!this.#shown) return;
    this.#shown = false;
    this.#invocation.stderr.draw('\r\u001B[K');
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #show(): void {
    const seconds = (performance.now() - this.#began) / 1_000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const left = this.#total === undefined ? '' : `, ${Math.max(0, this.#total - this.#done)} left`;
    const text = `${this.#done} done, ${this.#failed} failed${left}, ${rate.toFixed(rate < 10 ? 1 : 0)} a second`;
    this.#invocation.stderr.draw(`\r\u001B[K${text.slice(0, Math.max(1, this.#invocation.terminal.columns - 1))}`);
    this.#shown = true;
  }
}
