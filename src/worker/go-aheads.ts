import type { Fault } from '../core/errors.ts';

/** Nodes in one question. */
const together = 1_024;
/**
 * Milliseconds after a question in which its answer counts. It is less than the time after which a server gives up a worker it does not
 * hear of: what the server then says may have happened, has happened by then or never will.
 */
const lateAfter = 5_000;

interface Waiting {
  readonly node: string;
  begin(): void;
  refuse(reason: Fault): void;
}

/** Asks the server, for many nodes at a time, whether work on them may begin. */
export class GoAheads {
  readonly #ask: (question: number, nodes: readonly string[]) => void;
  readonly #asked = new Map<number, { readonly since: number; readonly waiting: readonly Waiting[] }>();
  #waiting: Waiting[] = [];
  #next = 0;
  #closed: Fault | undefined;

  constructor(ask: (question: number, nodes: readonly string[]) => void) {
    this.#ask = ask;
  }

  /** Resolves when work on the node may begin. */
  get(node: string): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((begin, refuse) => this.#wait([{ node, begin, refuse }]));
  }

  answered(question: number): void {
    const asked = this.#asked.get(question);
    if (!asked) return;
    this.#asked.delete(question);
    if (performance.now() - asked.since > lateAfter) this.#wait(asked.waiting);
    else for (const { begin } of asked.waiting) begin();
  }

  /** Nobody gets one any more. */
  close(reason: Fault): void {
    this.#closed ??= reason;
    const waiting = [...this.#waiting, ...[...this.#asked.values()].flatMap((asked) => asked.waiting)];
    this.#waiting = [];
    this.#asked.clear();
    for (const { refuse } of waiting) refuse(reason);
  }

  #wait(more: readonly Waiting[]): void {
    // Once for all whose turn comes in the same turn of the event loop.
    if (this.#waiting.length === 0) setImmediate(() => this.#askForAll());
    this.#waiting.push(...more);
  }

  #askForAll(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < all.length; at += together) {
      const waiting = all.slice(at, at + together);
      const question = this.#next++;
      this.#asked.set(question, { since: performance.now(), waiting });
      this.#ask(
        question,
        waiting.map(({ node }) => node),
      );
    }
  }
}
