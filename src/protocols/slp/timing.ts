/** Milliseconds. */
export interface Timing {
  /** To listen after the first time all were asked, and after each later one. */
  readonly firstGap: number;
  readonly laterGap: number;
  /** To wait for the answer of one agent to the first, second, ... sending. */
  readonly timeouts: readonly number[];
  readonly tcpTimeout: number;
}

export const defaultTiming: Timing = {
  firstGap: 500,
  laterGap: 1_000,
  timeouts: [400, 800, 1_600],
  tcpTimeout: 2_000,
};

const fewestRounds = 3;
const quietRounds = 2;

/** RFC 2608 6.3: asks until nobody new answers, in two rounds, since one may be a lost packet or a slow device. */
export class Rounds {
  readonly #timing: Timing;
  #rounds = 0;
  #quiet = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /** Begins a round; `news` says whether anybody new has answered in the last. The milliseconds to listen, or undefined at the end. */
  next(news: boolean): number | undefined {
    this.#quiet = news || this.#rounds === 0 ? 0 : this.#quiet + 1;
    if (this.#rounds >= fewestRounds && this.#quiet >= quietRounds) return undefined;
    return this.#rounds++ === 0 ? this.#timing.firstGap : this.#timing.laterGap;
  }
}
