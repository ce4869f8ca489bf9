/** The weight of one answer among the last ones. */
const weight = 1 / 32;
/** Silence of all after which what was learnt says nothing any more, in milliseconds. */
const memory = 10_000;
/** How many times longer than the others one may take before it is taken for dead. */
const slowerThanOthers = 4;

/**
 * How long answers take at the moment, over all BMCs. If all are slow, the network or this server is. Whoever did not answer yet is then
 * no more dead than the others, and asking again sooner would make it worse.
 */
export class Pace {
  #mean = 0;
  #heardAt = Number.NEGATIVE_INFINITY;

  /** After an answer, with how long it was waited for. */
  note(took: number, now: number): void {
    const before = this.typical(now);
    this.#mean = before + weight * (Math.max(0, took) - before);
    this.#heardAt = now;
  }

  /** Milliseconds; 0 if it is not known. */
  typical(now: number): number {
    return now - this.#heardAt > memory ? 0 : this.#mean;
  }

  /** How much longer than `timeout` silence must last to mean something; at most as long again. */
  extra(timeout: number, now: number): number {
    return Math.min(timeout, Math.max(0, slowerThanOthers * this.typical(now) - timeout));
  }
}
