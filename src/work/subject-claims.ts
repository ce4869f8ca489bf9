/** Who works on what. */
export interface Claim {
  readonly subject: string;
  readonly run: string;
  readonly command: string;
  readonly user: string;
  readonly started: number;
  /** Whether the user may see runs of others. */
  readonly seesAll: boolean;
}

/** Who has a subject that another wants. */
export type OtherClaim = Omit<Claim, 'seesAll'> & { /** Where, if not here. */ readonly server?: string };

/** A subject that a run has to itself, at all servers of the database, until it is released. */
export interface HeldSubject {
  /** Aborted, with a Fault that says why, when another run has taken the subject meanwhile. */
  readonly lost: AbortSignal;
  /**
   * Does the last step, after which others see the result. No other run has begun on the subject since this one took it: `check` fails
   * where that is no longer certain, and the step is tried again if it turns out to hold.
   */
  settle<T>(step: (check: () => void) => Promise<T>): Promise<T>;
  release(): Promise<void>;
}

/** One run at a time on each subject, whichever server it is sent to. */
export interface SubjectClaims {
  take(claim: Claim): Promise<HeldSubject | OtherClaim>;
}
