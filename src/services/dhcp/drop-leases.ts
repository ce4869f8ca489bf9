import { asTheyCome } from '../../core/as-they-come.ts';
import { KeaRefusal, keaResults } from '../../protocols/kea/control.ts';
import type { Difference, KeaServer } from './kea-server.ts';
import { askedLeases } from './leases.ts';
import type { Reservation } from './reservations.ts';

const atOnce = 8;
/** From so many on it is quicker to look first which of them have a lease at all. */
const few = 100;

/** The reservations whose MAC address has lost the address. */
export function lostAddresses({ removed, added }: Difference): Reservation[] {
  const holders = new Map(added.map(({ address, mac }) => [address, mac]));
  return removed.filter(({ ip, address, mac }) => ip && holders.get(address) !== mac);
}

/** Ends the leases of addresses; as long as the former machine has one, Kea gives the address to no other. */
export async function dropLeases(server: KeaServer, addresses: readonly string[]): Promise<void> {
  const command = `lease${server.family}-del`;
  if (!(await server.offers(command))) throw new Error(`${server.name} has no command ${command}`);
  const dropped = asTheyCome(await leased(server, addresses), atOnce, async (address) => {
    const { result, text } = await server.control.ask(command, { 'ip-address': address });
    if (result !== keaResults.done && result !== keaResults.empty) throw new KeaRefusal(command, text);
  });
  for await (const _ of dropped);
}

async function leased(server: KeaServer, addresses: readonly string[]): Promise<readonly string[]> {
  const leases = addresses.length > few ? await askedLeases(server) : undefined;
  if (!leases) return addresses;
  const present = new Set(leases.map(({ address }) => address));
  return addresses.filter((address) => present.has(address));
}
