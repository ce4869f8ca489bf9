import type { Snapshot } from '../../../database/snapshot.ts';
import type { NodeImage } from '../../update/node-image.ts';
import type { BootOrder, InstallBoot, Vantage } from '../boot-order.ts';
import type { Asker, Found } from './found.ts';

/** What a part of network boot adds to the listener. Each has what it answers to; what no room has does not exist. */
export interface BootRoom {
  /** Undefined: it has nothing at this path. A Fault refuses. */
  find?(segments: readonly string[], asker: Asker): Promise<Found | undefined>;
  /** The answer to what was sent there (at most 64 KiB); undefined: it takes nothing at this path. */
  take?(segments: readonly string[], body: string, asker: Asker): Promise<Taken | undefined>;
  /** What a machine with an unknown MAC is to boot; undefined: nothing. */
  unknown?(mac: string, asker: Asker, vantage: Vantage): Promise<BootOrder | undefined>;
  /** What a node boots to be installed; undefined: it knows nothing of installing. */
  install?(snapshot: Snapshot, node: string, image: NodeImage, vantage: Vantage): Promise<InstallBoot | undefined>;
}

/** An empty text is answered with 204. */
export interface Taken {
  readonly text: string;
}
