import { Fault } from '../../core/errors.ts';
import type { Origin } from '../../database/changeset.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import type { Dhcp } from '../dhcp/dhcp.ts';

/** What boots from the network needs an address; what is offline gets none. Returns why that failed. */
export async function followReservations(
  dhcp: Dhcp,
  snapshot: Snapshot,
  nodes: readonly string[],
  isOffline: boolean,
  origin: Origin,
): Promise<Fault | undefined> {
  const isOff = /^(n|no|0)$/i.test(siteValue(snapshot, 'dhcpsetup') ?? '');
  if (isOff || !dhcp.isConfigured || nodes.length === 0) return undefined;
  try {
    if (isOffline) await dhcp.release(nodes, origin);
    else await dhcp.reserve(snapshot, nodes, origin);
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return new Fault(error.kind, ['The state is set, but not its DHCP reservation.', ...error.sentences]);
  }
}
