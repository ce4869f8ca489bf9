/** Values by the names that the hardware gives to its settings. */
export type Texts = Readonly<Record<string, string>>;

export interface BiosState {
  /** What the machine runs with. */
  readonly current: Texts;
  /** What it will run with once it has restarted, where that differs. */
  readonly pending: Texts;
  /** What there is to know besides, one sentence each: that defaults wait, or what of the last change was refused. */
  readonly notes: readonly string[];
  /** What each setting that can be set takes, in words; only where it was asked for. */
  readonly allowed?: Texts | undefined;
  /** Those of `allowed` that every machine has of its own, such as its asset tag; only with `allowed`. */
  readonly own?: readonly string[] | undefined;
}

export interface BiosReading {
  /** Only these; absent: all. One that the hardware has not is a Fault. */
  readonly names?: readonly string[] | undefined;
  /** With what each setting takes. */
  readonly details?: boolean | undefined;
}

/** `restart`: when the machine restarts, and not before. */
export const biosTimes = ['restart', 'now'] as const;
export type BiosTime = (typeof biosTimes)[number];

/** Settings of the firmware of a machine. */
export interface Bios {
  read(reading: BiosReading, signal: AbortSignal): Promise<BiosState>;
  /**
   * All values are checked against what the hardware says that it takes, before anything is sent; what is so already is not sent.
   * Resolves with what is so now and what waits. A Fault names each setting that the hardware did not take, and those that it did.
   */
  set(values: Texts, when: BiosTime, signal: AbortSignal): Promise<BiosState>;
  /** Orders all settings to return to their defaults. Resolves with what there is to do now. */
  reset(signal: AbortSignal): Promise<string>;
}
