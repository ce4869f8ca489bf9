import type { BootOrder, Vantage } from '../boot-order.ts';
import type { Asker, Found } from './found.ts';

/** What a part of network boot adds to the listener: files, what it takes, and what machines do that nobody knows. */
export interface BootRoom {
  /** Undefined: it has nothing at this path. A Fault refuses. */
  find?(segments: readonly string[], asker: Asker): Promise<Found | undefined>;
  /** The answer to what was sent there (at most 64 KiB); undefined: it takes nothing at this path. */
  take?(segments: readonly string[], body: string, asker: Asker): Promise<Taken | undefined>;
  /** What a machine with an unknown MAC is to boot; undefined: nothing. */
  unknown?(mac: string, asker: Asker, vantage: Vantage): Promise<BootOrder | undefined>;
}

/** An empty text is answered with 204. */
export interface Taken {
  readonly text: string;
}
