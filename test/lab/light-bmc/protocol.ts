/** What the lab and a process of light BMCs say to each other. */
export interface LightOptions {
  readonly addresses: readonly string[];
  readonly firstIndex: number;
  readonly port: number;
  readonly delay: number;
  readonly delayStep: number;
  readonly loss: number;
  /** Milliseconds after which each machine prints a line on its serial port; 0: it prints only what is typed. Absent: it has none. */
  readonly lines?: number | undefined;
}

export type LightQuestion =
  | { readonly id: number; readonly ask: 'start'; readonly options: LightOptions }
  | { readonly id: number; readonly ask: 'state'; readonly place: number }
  | { readonly id: number; readonly ask: 'poweredOn' };

/** What a light BMC believes. */
export interface LightState {
  readonly power: 'on' | 'off';
  /** Every accepted Chassis Control (0 off, 1 on, 2 cycle, 3 reset, 4 interrupt, 5 soft), in order. */
  readonly controls: readonly number[];
  readonly openSessions: number;
  /** Boot options parameter 5 as last set; null when never set or used up by a start. */
  readonly bootFlags: readonly number[] | null;
}
