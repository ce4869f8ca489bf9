/** Milliseconds for which something that was seen here first counts, though jobs do not bring it: the server may not have stored it yet. */
const learnedFor = 30_000;

/**
 * Host keys or certificates by node, in memory: those that jobs bring, and those that this worker sees first. The server keeps them; when
 * it has none for a node, whatever is seen next is the first.
 */
export class MemoryTrust {
  readonly #brought = new Map<string, string>();
  readonly #learned = new Map<string, { readonly value: string; readonly since: number }>();
  readonly #tell: (node: string, value: string) => void;

  /** `tell` has the server keep what was seen first. */
  constructor(tell: (node: string, value: string) => void) {
    this.#tell = tell;
  }

  bring(node: string, value: string | undefined): void {
    if (value === undefined) this.#brought.delete(node);
    else {
      this.#brought.set(node, value);
      this.#learned.delete(node);
    }
  }

  known(node: string): string | undefined {
    const brought = this.#brought.get(node);
    if (brought !== undefined) return brought;
    const learned = this.#learned.get(node);
    if (learned && performance.now() - learned.since < learnedFor) return learned.value;
    this.#learned.delete(node);
    return undefined;
  }

  async learn(node: string, value: string): Promise<void> {
    if (this.known(node) !== undefined) return;
    this.#learned.set(node, { value, since: performance.now() });
    this.#tell(node, value);
  }
}
