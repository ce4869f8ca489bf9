import { Fault } from '../core/errors.ts';

interface Waiting<T> {
  answered(answer: T): void;
  failed(error: unknown): void;
}

/** Questions to one server that are under way. Each has a number, and its answer has the same. */
export class Questions<T> {
  readonly #timeout: number | undefined;
  readonly #waiting = new Map<number, Waiting<T>>();
  #last = 0;
  #failed: Fault | undefined;

  /** Milliseconds for an answer; undefined: as long as the server is there. */
  constructor(timeout?: number) {
    this.#timeout = timeout;
  }

  /** Sends a question and waits for its answer. */
  async ask(send: (question: number) => Promise<void>): Promise<T> {
    if (this.#failed) throw this.#failed;
    const question = ++this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.set(question, { answered: resolve, failed: reject });
    const late = (): void => reject(new Fault('unavailable', 'The server did not answer in time.'));
    const timer = this.#timeout === undefined ? undefined : setTimeout(late, this.#timeout);
    send(question).catch(reject);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(question);
    }
  }

  answered(question: number, answer: T): void {
    this.#waiting.get(question)?.answered(answer);
  }

  refused(question: number, fault: Fault): void {
    this.#waiting.get(question)?.failed(fault);
  }

  /** Nobody answers any more. */
  fail(fault: Fault): void {
    this.#failed = fault;
    for (const { failed } of this.#waiting.values()) failed(fault);
  }
}
