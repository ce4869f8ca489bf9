import { canonicalAddress } from '../../../access/addresses.ts';
import { formatListen } from '../../../core/listen-address.ts';
import type { Asker } from '../rooms/found.ts';

/** Who asks, from an address, for files at an address of ours. */
export function asker(from: string, at: string, httpPort: number, protocol: Asker['protocol']): Asker {
  const server = canonicalAddress(at);
  const whole = formatListen({ host: server, port: httpPort });
  const authority = httpPort === 80 ? whole.replace(/:80$/, '') : whole;
  return { address: canonicalAddress(from), server, authority, httpPort, protocol };
}
