/** Lets a few begin in each turn of the event loop; the others wait for theirs, in the order they came. */
export class StartGate {
  readonly #size: number;
  #begun = 0;
  #waiting: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  /** Nothing to wait for if it may begin at once. */
  turn(): Promise<void> | undefined {
    if (this.#begun === this.#size) return new Promise((resolve) => this.#waiting.push(resolve));
    if (this.#begun++ === 0) setImmediate(() => this.#next());
    return undefined;
  }

  #next(): void {
    const some = this.#waiting.splice(0, this.#size);
    this.#begun = some.length;
    if (some.length > 0) setImmediate(() => this.#next());
    for (const begin of some) begin();
  }
}
