/** Numbers that follow from a seed alone, so that a failed run can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, `below`. */
  number(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  /** True in `percent` of all cases. */
  chance(percent: number): boolean {
    return this.number(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.number(list.length)]!;
  }

  times<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.number(most + 1) }, make);
  }
}
