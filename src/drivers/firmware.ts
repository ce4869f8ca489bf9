import type { FirmwareTrace } from '../core/effects.ts';

export type { FirmwareTrace } from '../core/effects.ts';

/** The firmware of a machine and of its BMC. */
export interface Firmware {
  /** What is installed, in the order of the hardware. Changes nothing. */
  list(signal: AbortSignal): Promise<FirmwareState>;
  /**
   * Brings one image to the hardware, once. State by state:
   *
   * 1. It looks: at what is installed, and at updates that the hardware is carrying out. One that `watch.earlier` names is followed to
   *    its end instead of beginning again; one that nobody here began is a Fault of kind `conflict`. Nothing has been sent so far.
   * 2. `watch.keep` is waited for with what is about to be sent. Only then is it sent, once, whatever happens.
   * 3. What the hardware says of its work goes to `watch.tell`. That the BMC is away meanwhile is no failure until its time is over.
   * 4. It reads the versions until one of them is another than before. That none is, is a Fault.
   *
   * A Fault of step 1 means that nothing was sent. If the hardware refuses what it gets, or says that the work has failed, `watch.forget`
   * is called before the Fault. After any other, such as the end of the signal, the hardware may still be at work: what was kept stays,
   * and the next call with it goes on from there.
   */
  update(order: FirmwareOrder, watch: FirmwareWatch, signal: AbortSignal): Promise<FirmwareOutcome>;
  /** Begins what was brought with `on-start`, by the same steps. */
  start(watch: FirmwareWatch, signal: AbortSignal): Promise<FirmwareOutcome>;
}

export interface FirmwareState {
  readonly model: string | undefined;
  readonly items: readonly FirmwareItem[];
}

export interface FirmwareItem {
  /** How it is named in orders and catalogs; the same for all machines of a model, and before and after an update. */
  readonly component: string;
  readonly name: string;
  readonly version: string | undefined;
}

/** When the hardware takes on what it was given; the first at once. */
export const applyTimes = ['now', 'on-reset', 'at-maintenance', 'on-start'] as const;
export type ApplyTime = (typeof applyTimes)[number];

export type FirmwareSource =
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly size: number;
      readonly sha256: string;
      /** Piece by piece, from its beginning. */
      pieces(): AsyncIterable<Uint8Array>;
    }
  /** The BMC fetches it. */
  | { readonly kind: 'url'; readonly url: string };

export interface FirmwareOrder {
  readonly source: FirmwareSource;
  /** What it is for; undefined: the hardware finds out. */
  readonly component: string | undefined;
  readonly apply: ApplyTime;
  /** The version that it brings: where that is installed nothing is sent, and in the end it must be. */
  readonly version: string | undefined;
  /** It is sent although an earlier update may have happened. */
  readonly again: boolean;
}

export interface FirmwareWatch {
  readonly earlier: FirmwareTrace | undefined;
  /** Resolves when it will be known even if this process is killed. */
  keep(trace: FirmwareTrace): Promise<void>;
  /** Nothing is under way any more. */
  forget(): Promise<void>;
  tell(sentence: string): void;
}

export interface FirmwareOutcome {
  /** `already`: it was there, and nothing was sent. */
  readonly state: 'updated' | 'staged' | 'already';
  readonly said: string;
  readonly changed: readonly FirmwareChange[];
}

export interface FirmwareChange {
  readonly component: string;
  readonly before: string | undefined;
  readonly after: string;
}
