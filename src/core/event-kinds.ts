/** What there are events of. */
export const eventKinds = ['change', 'status', 'power', 'run', 'notice'] as const;
export type EventKind = (typeof eventKinds)[number];

/** Whose a run is: its user's, as long as that account is there. */
export interface RunOwner {
  readonly user: string;
  readonly isOwned: boolean;
}

/** A run as it is at one moment. */
export interface RunNews {
  readonly run: string;
  readonly state: 'begun' | 'running' | 'finished' | 'cancelled' | 'interrupted';
  readonly command: string;
  readonly user: string;
  /** How many it works on, and what came of them. */
  readonly nodes: number;
  readonly ok: number;
  readonly failed: number;
  /** Of long work. */
  readonly progress?: { readonly done: number; readonly of: number; readonly line: string };
  /** Once it has ended. */
  readonly errorcode?: number;
  readonly error?: readonly string[];
}
