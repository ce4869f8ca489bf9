import type { Credentials } from './endpoint.ts';
import type { Habits, Timing } from './timing.ts';
import type { Wire } from './wire.ts';

/** A BMC as the machines see it. */
export interface Peer {
  /** Its address, for sentences. */
  readonly place: string;
  readonly credentials: Credentials;
  readonly timing: Timing;
  readonly habits: Habits;
  readonly wire: Wire;
}
