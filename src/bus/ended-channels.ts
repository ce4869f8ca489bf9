/** Numbers that are kept one by one. */
const mostKept = 10_000;

/** The numbers of channels that are over, in little memory: below those that are kept, all count as over. */
export class EndedChannels {
  readonly #kept = new Set<number>();
  #allUntil = 0;

  add(number: number): void {
    this.#kept.add(number);
    if (this.#kept.size <= mostKept) return;
    const oldest = this.#kept.values().next().value!;
    this.#kept.delete(oldest);
    this.#allUntil = Math.max(this.#allUntil, oldest);
  }

  has(number: number): boolean {
    return number <= this.#allUntil || this.#kept.has(number);
  }
}
