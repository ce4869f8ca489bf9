import { asTheyCome } from '../../core/as-they-come.ts';
import { KeaRefusal, keaResults } from '../../protocols/kea/control.ts';
import { readOptional } from '../../core/files.ts';
import type { KeaServer } from './kea-server.ts';
import type { Reservation } from './reservations.ts';

/** An address that a machine has been given for a time. */
export interface Lease {
  readonly address: string;
  readonly mac: string;
  readonly hostname: string;
  /** When it ends, in seconds since 1970. */
  readonly expires: number;
  /** Its network, if it is still served. */
  readonly network: string;
}

const pageSize = 1_000;
/** Longer than Kea takes for a configuration with many reservations. */
const pageTimeout = 10_000;

/** All leases that are in force, by Kea's own word or, where it cannot say, from the file it keeps them in. */
export async function leasesOf(server: KeaServer, now: number): Promise<Lease[]> {
  const found = await rawLeases(server);
  const networks = new Map(server.base?.subnets.map(({ id, network }) => [id, network]));
  return found
    .filter((lease) => isInForce(lease, now))
    .map(({ address, mac, hostname, expires, subnet }) => {
      const network = networks.get(subnet) ?? '';
      return { address, mac, hostname: hostname.replace(/\.$/, ''), expires, network };
    });
}

/** The addresses that Kea gives to nobody else now: those of leases, and those that a machine has declined. */
export async function takenAddresses(server: KeaServer, now: number): Promise<string[]> {
  const found = await rawLeases(server);
  return found.flatMap((lease) => (isInForce(lease, now) || isDeclined(lease, now) ? lease.address : []));
}

const rawLeases = (server: KeaServer): Promise<RawLease[]> =>
  keaLeases(server).catch(() => fileLeases(server.files.leaseFile));

interface RawLease extends Omit<Lease, 'network'> {
  readonly subnet: number;
  /** See `leaseStates`. */
  readonly state: number;
}

/** An address that a machine has declined, because it found another one there, is kept from everybody for a day. */
const leaseStates = { inForce: 0, declined: 1 } as const;

const isInForce = (lease: RawLease, now: number): boolean => lease.state === leaseStates.inForce && lasts(lease, now);

const isDeclined = (lease: RawLease, now: number): boolean => lease.state === leaseStates.declined && lasts(lease, now);

const lasts = ({ address, expires }: RawLease, now: number): boolean => expires > now && address !== '';

/** All leases by Kea's own word, a part at a time: there may be many, and Kea answers nobody else meanwhile. */
async function keaLeases({ family, control }: KeaServer): Promise<RawLease[]> {
  const command = `lease${family}-get-page`;
  const all: RawLease[] = [];
  for (let from = 'start'; ; from = all.at(-1)!.address) {
    const answer = await control.ask(command, { from, limit: pageSize }, pageTimeout);
    if (answer.result !== keaResults.done && answer.result !== keaResults.empty)
      throw new KeaRefusal(command, answer.text);
    const { leases = [] } = (answer.arguments ?? {}) as { leases?: Record<string, unknown>[] };
    all.push(...leases.map(rawLease));
    if (leases.length < pageSize) return all;
  }
}

async function keaLease({ family, control }: KeaServer, address: string): Promise<RawLease | undefined> {
  const command = `lease${family}-get`;
  const answer = await control.ask(command, { 'ip-address': address });
  if (answer.result === keaResults.empty) return undefined;
  if (answer.result !== keaResults.done) throw new KeaRefusal(command, answer.text);
  return rawLease((answer.arguments ?? {}) as Record<string, unknown>);
}

const rawLease = (lease: Record<string, unknown>): RawLease => ({
  address: textIn(lease['ip-address']),
  mac: textIn(lease['hw-address']),
  hostname: textIn(lease['hostname']),
  expires: Number(lease['cltt']) + Number(lease['valid-lft']),
  subnet: Number(lease['subnet-id']),
  state: Number(lease['state']),
});

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Kea appends a line for every change and now and then writes the file again, so the last line of an address counts. */
export function fileLeases(file: string): RawLease[] {
  const leases = new Map<string, RawLease>();
  for (const name of [`${file}.completed`, `${file}.2`, `${file}.1`, file])
    for (const lease of parseLeases(readOptional(name) ?? '')) leases.set(lease.address, lease);
  return [...leases.values()];
}

/** Comma-separated with a header; commas inside values are written as `&#x2c`. */
export function parseLeases(content: string): RawLease[] {
  const [header = '', ...lines] = content.split('\n');
  const names = header.split(',');
  return lines.flatMap((line) => {
    const fields = line.split(',');
    // The last line may be cut off by a crash.
    if (fields.length < names.length) return [];
    const field = (name: string): string => fields[names.indexOf(name)] ?? '';
    return {
      address: field('address'),
      mac: field('hwaddr'),
      hostname: field('hostname').replaceAll('&#x2c', ','),
      expires: field('valid_lifetime') === '0' ? 0 : Number(field('expire')),
      subnet: Number(field('subnet_id')),
      state: Number(field('state')),
    };
  });
}

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
  const found = await Array.fromAsync(asTheyCome(addresses, atOnce, (address) => keaLease(server, address)));
  return found.flat().filter((lease) => lease !== undefined);
}

async function endLeases({ family, control }: KeaServer, leases: readonly RawLease[]): Promise<void> {
  const command = `lease${family}-del`;
  const ended = asTheyCome(leases, atOnce, async ({ address }) => {
    const { result, text } = await control.ask(command, { 'ip-address': address });
    if (result !== keaResults.done && result !== keaResults.empty) throw new KeaRefusal(command, text);
  });
  for await (const _ of ended);
}
