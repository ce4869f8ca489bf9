import { asTheyCome } from '../../core/as-they-come.ts';
import { KeaRefusal, keaResults } from '../../protocols/kea/control.ts';
import type { KeaServer } from './kea-server.ts';
import { fileLeases, isDeclined, isInForce, keaLease, keaLeases, type RawLease } from './leases.ts';
import type { Reservation } from './reservations.ts';

const atOnce = 8;
/** Up to so many it is quicker to ask for the lease of each address than for all leases. */
const few = 100;

/**
 * Ends the leases that stand in the way of reservations: as long as another machine has one, or the machine itself has declined the
 * address because it found another one there, Kea gives it to nobody.
 * `reserved` may be all reservations, or those that were asked for; leases of `removed` ones end too unless the same MAC address has it still.
 */
export async function dropLeases(
  server: KeaServer,
  reserved: Iterable<Reservation>,
  removed: readonly Reservation[],
): Promise<void> {
  const { family } = server;
  const holders = new Map<string, string | undefined>();
  for (const { ip, address } of removed) if (ip?.family === family) holders.set(address, undefined);
  for (const { ip, address, mac } of reserved) if (ip?.family === family) holders.set(address, mac);
  if (holders.size === 0) return;
  const able = await server.offers(`lease${family}-get`, `lease${family}-get-page`, `lease${family}-del`);
  const leases = able ? await leasesAmong(server, [...holders.keys()]) : fileLeases(server.files.leaseFile);
  const now = Date.now() / 1_000;
  const wrong = leases.filter(
    (lease) =>
      (isInForce(lease, now) && isWrong(lease, holders)) || (isDeclined(lease, now) && holders.has(lease.address)),
  );
  if (wrong.length === 0) return;
  if (!able) throw new Error(`its library lease_cmds is not there, so ${wrong.length} leases stay`);
  await endLeases(server, wrong);
}

/** Whose MAC address is not known may be the right machine's. */
function isWrong({ address, mac }: RawLease, holders: ReadonlyMap<string, string | undefined>): boolean {
  const holder = holders.get(address);
  return holder === undefined ? holders.has(address) : mac !== '' && mac !== holder;
}

async function leasesAmong(server: KeaServer, addresses: readonly string[]): Promise<RawLease[]> {
  if (addresses.length > few) return keaLeases(server);
  const found: RawLease[] = [];
  for await (const lease of asTheyCome(addresses, atOnce, (address) => keaLease(server, address)))
    if (lease) found.push(lease);
  return found;
}

async function endLeases({ family, control }: KeaServer, leases: readonly RawLease[]): Promise<void> {
  const command = `lease${family}-del`;
  const ended = asTheyCome(leases, atOnce, async ({ address }) => {
    const { result, text } = await control.ask(command, { 'ip-address': address });
    if (result !== keaResults.done && result !== keaResults.empty) throw new KeaRefusal(command, text);
  });
  for await (const _ of ended);
}
