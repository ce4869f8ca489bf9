/** Bounds how many bytes are held at a time, by one holder and by all together. */
export class ByteBudget {
  readonly #all: number;
  readonly #each: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(all: number, each: number) {
    this.#all = all;
    this.#each = each;
  }

  hold(holder: string): Hold {
    return new Hold((bytes) => this.#take(holder, bytes));
  }

  /** Gives back what is negative. False, and nothing happens, if there is no room. */
  #take(holder: string, bytes: number): boolean {
    const held = (this.#held.get(holder) ?? 0) + bytes;
    if (bytes > 0 && (held > this.#each || this.#total + bytes > this.#all)) return false;
    this.#total += bytes;
    if (held === 0) this.#held.delete(holder);
    else this.#held.set(holder, held);
    return true;
  }
}

/** What one piece of work holds; it is given back as a whole. */
export class Hold {
  readonly #take: (bytes: number) => boolean;
  #bytes = 0;

  constructor(take: (bytes: number) => boolean) {
    this.#take = take;
  }

  /** False, and nothing more is held, if there is no room. */
  add(bytes: number): boolean {
    if (!this.#take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  release(): void {
    this.#take(-this.#bytes);
    this.#bytes = 0;
  }
}
