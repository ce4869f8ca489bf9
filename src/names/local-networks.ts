import { endianness, networkInterfaces } from 'node:os';
import { readOptional } from '../core/files.ts';
import { type Ip, ipKind, maskBits, parseIp, type Prefix, prefixOf } from '../core/ip.ts';
import type { Resolve } from '../objects/host-names.ts';

/** A network this machine is connected to. */
export interface ConnectedNetwork {
  readonly prefix: Prefix;
  readonly device: string;
  readonly mtu: string | undefined;
}

export interface LocalNetworks {
  readonly connected: readonly ConnectedNetwork[];
  /** The next hops of default routes. */
  readonly gateways: readonly Ip[];
}

interface Route {
  readonly prefix: Prefix;
  readonly gateway: Ip | undefined;
  readonly device: string;
}

const up = 0x1;
const viaGateway = 0x2;
const refused = 0x200;
/** Of IPv6: addresses of this machine, and those of services that several machines have. */
const ownAddress = 0x8010_0000;

/** From the kernel's routing tables, which need no program and are those of the network namespace muster is in. */
export function localNetworks(): LocalNetworks {
  const routes = [...readTable('/proc/net/route', parseRoute4), ...readTable('/proc/net/ipv6_route', parseRoute6)];
  const connected = new Map<string, ConnectedNetwork>();
  for (const { prefix, gateway, device } of routes) {
    const { family, value, bits } = prefix;
    if (gateway || bits === 0 || bits === (family === 4 ? 32 : 128) || device === 'lo' || ipKind(prefix) !== 'host')
      continue;
    const key = `${family} ${value} ${bits}`;
    if (!connected.has(key)) connected.set(key, { prefix, device, mtu: mtuOf(device) });
  }
  const gateways = routes.flatMap(({ prefix, gateway }) => (prefix.bits === 0 && gateway ? gateway : []));
  return { connected: [...connected.values()], gateways };
}

/** A table that is not there, as that of IPv6 where it is switched off, has no routes. */
function readTable(file: string, parse: (fields: readonly string[]) => Route | undefined): Route[] {
  const lines = (readOptional(file) ?? '').split('\n');
  return lines.flatMap((line) => parse(line.trim().split(/\s+/)) ?? []);
}

/** `eth0 0000000A 00000000 0001 0 0 0 000000FF ...`: device, destination, gateway, flags, ..., mask. */
function parseRoute4([device, destination, gateway, flagText, , , , mask]: readonly string[]): Route | undefined {
  const flags = Number.parseInt(flagText ?? '', 16);
  // The first line has the names of the columns. What is to be thrown away (blackhole) has no device.
  if (!device || device === '*' || !/^[0-9A-F]{8}$/i.test(mask ?? '') || !(flags & up) || flags & refused)
    return undefined;
  const bits = maskBits([24n, 16n, 8n, 0n].map((shift) => (hostNumber(mask!) >> shift) & 255n).join('.'), 4);
  if (bits === undefined) return undefined;
  return {
    prefix: prefixOf({ family: 4, value: hostNumber(destination!) }, bits),
    gateway: flags & viaGateway ? { family: 4, value: hostNumber(gateway!) } : undefined,
    device,
  };
}

/** The kernel prints the bytes of an IPv4 address as a number of this machine's. */
function hostNumber(digits: string): bigint {
  const number = BigInt(`0x${digits}`);
  if (endianness() === 'BE') return number;
  return [0n, 8n, 16n, 24n].reduce((sum, shift) => (sum << 8n) | ((number >> shift) & 255n), 0n);
}

/** Destination and its length, source and its length, next hop, metric, two counters, flags, device. */
function parseRoute6(fields: readonly string[]): Route | undefined {
  const [destination, length, , , hop, , , , flagText, device] = fields;
  const flags = Number.parseInt(flagText ?? '', 16);
  if (!destination || !device || !(flags & up) || flags & refused || flags & ownAddress) return undefined;
  return {
    prefix: prefixOf({ family: 6, value: BigInt(`0x${destination}`) }, Number.parseInt(length!, 16)),
    gateway: flags & viaGateway ? { family: 6, value: BigInt(`0x${hop!}`) } : undefined,
    device,
  };
}

const mtuOf = (device: string): string | undefined =>
  /^\d+/.exec(readOptional(`/sys/class/net/${device}/mtu`) ?? '')?.[0];

/** An address of this machine. */
interface Adapter {
  readonly name: string;
  /** With the length of its network's prefix. */
  readonly ip: string;
  readonly mac: string;
}

/** All addresses of this machine but loopback ones. */
export const localAdapters = (): Adapter[] =>
  Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? []).flatMap(({ internal, cidr, mac }) => (internal || !cidr ? [] : { name, ip: cidr, mac })),
  );

/** What the configuration of DHCP depends on besides the database. */
export interface Machine {
  addresses(): readonly OwnAddress[];
  /** Whether it routes for others. */
  forwards(family: 4 | 6): boolean;
  /** A resolver for one piece of work. */
  resolver(): Resolve;
}

export interface OwnAddress {
  readonly nic: string;
  readonly ip: Ip;
}

export const thisMachine = (resolver: Machine['resolver']): Machine => ({
  addresses: () =>
    localAdapters().flatMap(({ name, ip: text }) => {
      const ip = parseIp(text.split('/')[0]!);
      // An address may have a label, such as eth0:1, which is no interface.
      return ip ? [{ nic: name.split(':')[0]!, ip }] : [];
    }),
  forwards(family) {
    const file = family === 4 ? '/proc/sys/net/ipv4/ip_forward' : '/proc/sys/net/ipv6/conf/all/forwarding';
    return readOptional(file)?.trim() === '1';
  },
  resolver,
});
