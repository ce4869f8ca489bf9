import { contains, type Ip, ipText, parsePrefix, type Prefix, prefixText } from '../../core/ip.ts';
import { type AddressRange, parseRanges, rangeText, type Subnet } from './subnets.ts';
import { bootClasses, type BootSettings, firmwareClass, firmwareClassName } from './boot-classes.ts';
import type { OwnAddress } from '../local-networks.ts';
import type { Reservation } from './reservations.ts';

export type Family = 4 | 6;

/** What of Kea's configuration does not come from the networks. */
export interface KeaSettings {
  readonly socket: string;
  readonly leaseFile: string;
  readonly directory: string | undefined;
  readonly hooks: readonly string[];
  /** Seconds that a lease is valid. */
  readonly leaseTime: number;
  readonly boot: BootSettings;
  /** Where Kea finds reservations instead of in its configuration. */
  readonly hostsDatabase: object | undefined;
}

export interface KeaSubnet {
  readonly id: number;
  readonly subnet: string;
  readonly 'user-context': { readonly network: string; readonly gateway?: string };
  readonly pools: readonly { readonly pool: string }[];
  readonly [member: string]: unknown;
}

interface HasSubnets {
  readonly subnet4?: readonly KeaSubnet[];
  readonly subnet6?: readonly KeaSubnet[];
}

interface KeaClass {
  readonly name: string;
  readonly test?: string;
  readonly 'valid-lifetime'?: number;
}

/** Kea's configuration; only what muster itself looks at is typed. */
export interface KeaBody extends HasSubnets {
  /** What of it muster itself needs; also the database that a copy of its reservations stands in for. */
  readonly 'user-context'?: { readonly muster?: boolean; readonly 'hosts-database'?: object };
  readonly 'hosts-database'?: object;
  readonly 'shared-networks': readonly HasSubnets[];
  readonly reservations?: readonly object[];
  readonly 'client-classes'?: readonly KeaClass[];
  /** Seconds that leases are valid. */
  readonly 'valid-lifetime': number;
}

/** The configuration of one server without its reservations. */
export interface Base {
  readonly family: Family;
  readonly body: KeaBody;
  readonly subnets: readonly ServedSubnet[];
}

export interface ServedSubnet {
  readonly id: number;
  readonly network: string;
  readonly prefix: Prefix;
  readonly ranges: readonly AddressRange[];
  readonly gateway: string | undefined;
  /** Where machines boot from that have no server of their own. */
  readonly bootServer: string | undefined;
}

const inOrder = (a: Ip, b: Ip): number => a.family - b.family || (a.value === b.value ? 0 : a.value < b.value ? -1 : 1);

export const sortedSubnets = (subnets: readonly ServedSubnet[]): readonly ServedSubnet[] =>
  subnets.toSorted((a, b) => inOrder(a.prefix, b.prefix));

/** The subnet that contains the address, among sorted ones that do not overlap. */
export function subnetOf(sorted: readonly ServedSubnet[], ip: Ip): ServedSubnet | undefined {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inOrder(sorted[middle]!.prefix, ip) <= 0) low = middle + 1;
    else high = middle;
  }
  const candidate = sorted[low - 1];
  return candidate && contains(candidate.prefix, ip) ? candidate : undefined;
}

/** The configuration that serves the subnets of the family. */
export function renderBase(
  family: Family,
  all: readonly Subnet[],
  reachable: readonly OwnAddress[],
  settings: KeaSettings,
): Base {
  const subnets = all.filter(({ prefix }) => prefix.family === family);
  const boot = bootClasses(family, subnets, settings.boot);
  const rendered = (subnet: Subnet, direct: boolean): KeaSubnet => ({
    id: subnet.id,
    subnet: prefixText(subnet.prefix),
    'user-context': { network: subnet.name, ...(subnet.gateway !== undefined && { gateway: subnet.gateway }) },
    ...(direct && subnet.nic !== undefined && { interface: subnet.nic }),
    pools: subnet.ranges.map((range) => ({ pool: rangeText(range) })),
    ...(family === 4 && subnet.bootServer !== undefined && { 'next-server': subnet.bootServer }),
    'option-data': family === 4 ? options4(subnet) : options6(subnet),
    'require-client-classes': boot.of(subnet),
  });
  const nics = new Set(subnets.flatMap(({ nic }) => nic ?? []));
  const onNic = (nic: string): Subnet[] => subnets.filter((subnet) => subnet.nic === nic);
  // Machines on one wire may belong to any of its networks.
  const shared = [...nics].filter((nic) => onNic(nic).length > 1);
  const relayed = subnets.some(({ nic }) => nic === undefined);
  const listening = new Set([...nics, ...(relayed ? relaySockets(family, reachable) : [])]);
  const subnetMember = `subnet${family}` as const;
  const body = withFirmwareClass(family, {
    ...serverMembers(family, [...listening], settings),
    ...classMembers(boot.classes),
    'shared-networks': shared.map((nic) => {
      const members: HasSubnets = { [subnetMember]: onNic(nic).map((subnet) => rendered(subnet, false)) };
      return { name: nic, interface: nic, ...members };
    }),
    [subnetMember]: subnets
      .filter(({ nic }) => nic === undefined || !shared.includes(nic))
      .map((subnet) => rendered(subnet, true)),
  });
  return { family, body, subnets: servedSubnets(family, body) };
}

/**
 * Where machines learn what to boot, firmware has a class. It is made of nothing but the rest of the configuration, so that one that
 * an older muster has written gets the class of today.
 */
function withFirmwareClass(family: Family, body: KeaBody): KeaBody {
  const others = body['client-classes']?.filter(({ name }) => name !== firmwareClassName) ?? [];
  if (others.length === 0) return body;
  const relayed = body[`subnet${family}`]!.filter((subnet) => subnet['interface'] === undefined);
  const networks = relayed.map(({ subnet }) => parsePrefix(subnet)!);
  const own = family === 4 ? [firmwareClass(networks, body['valid-lifetime'])] : [];
  return { ...body, 'client-classes': [...own, ...others] };
}

const firmwareClassOf = ({ 'client-classes': classes }: KeaBody): KeaClass | undefined =>
  classes?.find(({ name }) => name === firmwareClassName);

/** How long leases of firmware are valid, by which they are known; undefined: they are like all others. */
export const firmwareLifetime = ({ body }: Base): number | undefined => firmwareClassOf(body)?.['valid-lifetime'];

/** Kea takes no empty list of classes. */
const classMembers = (classes: readonly object[]): object => (classes.length > 0 ? { 'client-classes': classes } : {});

/** Relays speak to any address of ours; in IPv6 Kea listens on one that is not link-local only where it is named. */
const relaySockets = (family: Family, reachable: readonly OwnAddress[]): string[] =>
  reachable
    .filter(({ ip }) => ip.family === family)
    .flatMap(({ nic, ip }) => (family === 4 ? nic : [nic, `${nic}/${ipText(ip)}`]));

function serverMembers(family: Family, nics: readonly string[], settings: KeaSettings) {
  return {
    'user-context': { muster: true },
    'interfaces-config': {
      interfaces: nics,
      ...(family === 4 && { 'dhcp-socket-type': 'raw' }),
      // An interface that is not up yet, or has no link-local address yet, is tried again.
      'service-sockets-max-retries': 600,
      'service-sockets-retry-wait-time': 1_000,
    },
    'control-socket': { 'socket-type': 'unix', 'socket-name': settings.socket },
    'lease-database': { type: 'memfile', persist: true, name: settings.leaseFile, 'lfc-interval': 3_600 },
    'hooks-libraries': settings.hooks.map((library) => ({ library })),
    ...(settings.hostsDatabase && { 'hosts-database': settings.hostsDatabase }),
    'valid-lifetime': settings.leaseTime,
    'host-reservation-identifiers': ['hw-address'],
    // Those of no subnet are the MAC addresses that get no answer.
    'early-global-reservations-lookup': true,
    'reservations-global': true,
    'reservations-in-subnet': true,
    // Reserved addresses are never inside dynamic ranges, so that Kea need not look there.
    'reservations-out-of-pool': true,
    // Firmware, boot loader and system call themselves differently; only the MAC address stays the same.
    ...(family === 4
      ? { authoritative: true, 'match-client-id': false }
      : {
          // Kea's own is an hour: longer than a short lease, which clients then do not take.
          'preferred-lifetime': settings.leaseTime,
          // What a relay has seen and the link-local address are of the interface that asks; a DUID may be of another, or a UUID.
          'mac-sources': ['client-link-addr-option', 'ipv6-link-local', 'duid', 'any'],
          ...(settings.directory !== undefined && { 'data-directory': settings.directory }),
        }),
    loggers: [
      { name: `kea-dhcp${family}`, severity: 'INFO', output_options: [{ output: 'stdout' }] },
      // Muster asks every other second how it is.
      { name: `kea-dhcp${family}.commands`, severity: 'WARN', output_options: [{ output: 'stdout' }] },
    ],
  };
}

const option = (name: string, values: readonly (string | number | undefined)[]): object[] => {
  const given = values.filter((value) => value !== undefined);
  return given.length > 0 ? [{ name, data: given.join(', ') }] : [];
};

const options4 = (subnet: Subnet): object[] => [
  ...option('routers', [subnet.gateway]),
  ...option('domain-name-servers', subnet.nameServers),
  ...option('domain-name', [subnet.domain]),
  ...option('domain-search', [subnet.domain]),
  ...option('ntp-servers', subnet.timeServers),
  ...option('log-servers', subnet.logServers),
  ...option('interface-mtu', [subnet.mtu]),
];

/** Routers and their MTU come by router advertisements in IPv6; there is no option for log servers. */
const options6 = (subnet: Subnet): object[] => [
  ...option('dns-servers', subnet.nameServers),
  ...option('domain-search', [subnet.domain]),
  ...option('sntp-servers', subnet.timeServers),
];

/** All subnets of the configuration, also those that share a network. */
const keaSubnets = (family: Family, body: KeaBody): KeaSubnet[] => [
  ...body['shared-networks'].flatMap((network) => network[`subnet${family}`]!),
  ...body[`subnet${family}`]!,
];

const servedSubnets = (family: Family, body: KeaBody): readonly ServedSubnet[] =>
  sortedSubnets(
    keaSubnets(family, body).map(({ id, subnet, pools, 'user-context': { network, gateway }, ...members }) => {
      const prefix = parsePrefix(subnet)!;
      const ranges = parseRanges(pools.map(({ pool }) => pool).join(';'), prefix);
      if (typeof ranges === 'string') throw new Error(ranges);
      const bootServer = members['next-server'] as string | undefined;
      return { id, network, prefix, ranges, gateway, bootServer };
    }),
  );

/** The same for a while in which the database is away: its reservations are to stand in the configuration. */
export function withoutDatabase(base: Base): Base {
  const { 'hosts-database': database, ...rest } = base.body;
  if (!database) return base;
  return { ...base, body: { ...rest, 'user-context': { muster: true, 'hosts-database': database } } };
}

function withDatabase(body: KeaBody): KeaBody {
  const database = body['user-context']?.['hosts-database'];
  return database ? { ...body, 'user-context': { muster: true }, 'hosts-database': database } : body;
}

/** What was read back of a configuration; outdated: an older muster has written it, and Kea is to be given this one. */
export interface ReadBase extends Base {
  readonly isOutdated: boolean;
}

/** Reads back what `documentText` has written; undefined if it is something else. */
export function readDocument(family: Family, text: string): ReadBase | undefined {
  try {
    const { [`Dhcp${family}`]: written } = JSON.parse(text) as Record<string, KeaBody>;
    if (written?.['user-context']?.muster !== true) return undefined;
    const body = withFirmwareClass(
      family,
      withReservations(family, withDatabase(written), () => [], []),
    );
    const isOutdated = firmwareClassOf(body)?.test !== firmwareClassOf(written)?.test;
    return { family, body, subnets: servedSubnets(family, body), isOutdated };
  } catch {
    return undefined;
  }
}

/** Whether what `documentText` has written is `withoutDatabase`. */
export const isCopy = (family: Family, text: string): boolean =>
  (JSON.parse(text) as Record<string, KeaBody>)[`Dhcp${family}`]?.['user-context']?.['hosts-database'] !== undefined;

/** The text of the whole configuration, for Kea's socket as for its file. */
export function documentText({ family, body, subnets }: Base, reservations: Iterable<Reservation>): string {
  const bySubnet = new Map<number, Map<string, object>>();
  const denied = new Map<string, object>();
  for (const reservation of reservations) {
    const subnet = reservation.ip && subnetOf(subnets, reservation.ip);
    if (!reservation.ip) denied.set(reservation.mac, keaReservation(reservation));
    if (!subnet) continue;
    let members = bySubnet.get(subnet.id);
    if (!members) bySubnet.set(subnet.id, (members = new Map()));
    // Kea takes one for a MAC address in each subnet.
    if (!members.has(reservation.mac)) members.set(reservation.mac, keaReservation(reservation));
  }
  const full = withReservations(family, body, (id) => [...(bySubnet.get(id)?.values() ?? [])], [...denied.values()]);
  return JSON.stringify({ [`Dhcp${family}`]: full });
}

/** A reservation as Kea writes it. Packets of class DROP get no answer. */
export function keaReservation({ mac, ip, address, hostname, nextServer, loader }: Reservation): object {
  if (!ip) return { 'hw-address': mac, 'client-classes': ['DROP'] };
  const classes = loader && { 'client-classes': [loader] };
  if (ip.family === 6) return { 'hw-address': mac, 'ip-addresses': [address], hostname, ...classes };
  const server = nextServer && { 'next-server': nextServer };
  return { 'hw-address': mac, 'ip-address': address, hostname, ...server, ...classes };
}

function withReservations(
  family: Family,
  body: KeaBody,
  ofSubnet: (id: number) => object[],
  reservations: object[],
): KeaBody {
  const member = `subnet${family}` as const;
  const filled = (subnets: readonly KeaSubnet[]): KeaSubnet[] =>
    subnets.map((subnet) => ({ ...subnet, reservations: ofSubnet(subnet.id) }));
  return {
    ...body,
    reservations,
    'shared-networks': body['shared-networks'].map((network) => ({ ...network, [member]: filled(network[member]!) })),
    [member]: filled(body[member]!),
  };
}
