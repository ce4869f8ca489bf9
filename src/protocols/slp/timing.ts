/** Milliseconds. */
export interface Timing {
  /** To listen after the first time all were asked, and after each later one. */
  readonly firstGap: number;
  readonly laterGap: number;
  /** To wait for the answer of one agent to the first, second, ... sending. */
  readonly patience: readonly number[];
  readonly tcpPatience: number;
}

export const defaultTiming: Timing = {
  firstGap: 500,
  laterGap: 1_000,
  patience: [400, 800, 1_600],
  tcpPatience: 2_000,
};
