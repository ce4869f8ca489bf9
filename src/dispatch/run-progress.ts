import type { Batch } from '../work/index.ts';

/** How far long work is, and what it said last. */
export interface Progress {
  readonly done: number;
  readonly of: number;
  readonly line: string;
}

interface Watcher {
  queue: Progress[];
  missed: number;
  wake: () => void;
}

const mostLines = 1_000;
const mostCharacters = 262_144;
/** What a line takes besides its characters, in bytes; rough on purpose. */
const perLine = 24;

/** The progress of one run: its last lines are kept, and whoever watches gets each as it comes. */
export class RunProgress {
  #now: Progress = { done: 0, of: 1, line: '' };
  #lines: string[] = [];
  #characters = 0;
  #linesBefore = 0;
  #hasEnded = false;
  readonly #watchers = new Set<Watcher>();

  get now(): Progress {
    return this.#now;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** How many lines came before those that are kept. */
  get linesBefore(): number {
    return this.#linesBefore;
  }

  /** The memory it takes, roughly, in bytes. */
  get weight(): number {
    return this.#characters + this.#lines.length * perLine;
  }

  add({ lines, done, of }: Batch): void {
    for (const line of lines.length > 0 ? lines : [this.#now.line]) {
      this.#now = { done, of, line };
      for (const watcher of this.#watchers) hand(watcher, this.#now);
    }
    for (const line of lines) {
      this.#lines.push(line);
      this.#characters += line.length;
    }
    while (this.#lines.length > mostLines || this.#characters > mostCharacters) {
      this.#characters -= this.#lines.shift()!.length;
      this.#linesBefore++;
    }
  }

  /** Forgets the lines; what comes is kept again. */
  drop(): void {
    this.#linesBefore += this.#lines.length;
    this.#lines = [];
    this.#characters = 0;
  }

  end(): void {
    this.#hasEnded = true;
    for (const { wake } of this.#watchers) wake();
  }

  /** The last lines and all that comes until the end, or until the signal says to stop. Who reads slowly misses some; a line says how many. */
  async *watch(signal: AbortSignal): AsyncIterable<Progress> {
    const shown = this.#lines.map((line) => ({ ...this.#now, line }));
    const watcher: Watcher = { queue: shown, missed: 0, wake: () => undefined };
    this.#watchers.add(watcher);
    const leave = (): void => watcher.wake();
    signal.addEventListener('abort', leave, { once: true });
    try {
      for (;;) {
        const { queue, missed } = watcher;
        watcher.queue = [];
        watcher.missed = 0;
        if (missed > 0)
          yield { ...this.#now, line: `(${missed} lines are left out: this connection is too slow for them)` };
        for (const progress of queue) {
          if (signal.aborted) return;
          yield progress;
        }
        if (signal.aborted) return;
        if (watcher.queue.length > 0) continue;
        if (this.#hasEnded) return;
        await new Promise<void>((resolve) => {
          watcher.wake = resolve;
        });
      }
    } finally {
      this.#watchers.delete(watcher);
      signal.removeEventListener('abort', leave);
    }
  }
}

function hand(watcher: Watcher, progress: Progress): void {
  if (watcher.queue.length >= mostLines) {
    watcher.queue.shift();
    watcher.missed++;
  }
  watcher.queue.push(progress);
  watcher.wake();
}
