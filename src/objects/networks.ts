import { hostname, networkInterfaces } from 'node:os';
import { cachedBy } from '../core/cache.ts';
import { Fault } from '../core/errors.ts';
import {
  contains,
  type Ip,
  ipKey,
  ipKind,
  ipText,
  maskBits,
  parseIp,
  type Prefix,
  prefixOf,
  prefixText,
} from '../core/ip.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { SortedMap } from '../database/sorted-map.ts';
import { isEnabled, type Row } from '../database/tables.ts';
import { siteValue } from './effective.ts';

/** This machine as files and zones know it. */
export interface ManagementNode {
  hasAddress(ip: Ip): boolean;
  /** With any domain; localhost is its name as well. */
  hasName(name: string): boolean;
  /** Whether a text that names a machine, by a name or an address, means this one. */
  isMeantBy(text: string): boolean;
}

const firstPart = (name: string): string => name.toLowerCase().split('.', 1)[0]!;

/** The name of this machine without its domain. */
export const ownHostName = (): string => firstPart(hostname());

/** By its interfaces and its name, and by the site attribute master, which has an address or a name. */
export function managementNode(snapshot: Snapshot): ManagementNode {
  const addresses = new Set<number | bigint>();
  const names = new Set(['localhost', ownHostName()]);
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const master = siteValue(snapshot, 'master') ?? '';
  for (const text of [...interfaces.map(({ address }) => address), master]) {
    const ip = parseIp(text);
    if (ip) addresses.add(ipKey(ip));
  }
  if (master !== '' && !parseIp(master)) names.add(firstPart(master));
  const hasAddress = (ip: Ip): boolean => addresses.has(ipKey(ip));
  const hasName = (name: string): boolean => names.has(firstPart(name));
  const isMeantBy = (text: string): boolean => {
    const ip = parseIp(text);
    return ip ? hasAddress(ip) : hasName(text);
  };
  return { hasAddress, hasName, isMeantBy };
}

/** A defined network. */
export interface Network {
  readonly name: string;
  readonly row: Row;
  readonly prefix: Prefix;
}

interface BrokenNetwork {
  readonly name: string;
  readonly reason: string;
}

interface Networks {
  readonly valid: readonly Network[];
  readonly broken: readonly BrokenNetwork[];
  /** The longest prefix first: the first that contains an address is its network. */
  readonly longestFirst: readonly Network[];
}

const read = (snapshot: Snapshot): Networks => networksIn(snapshot.rows('networks'));

/** The table's rows are the same object in all snapshots between two changes of it. */
const networksIn = cachedBy((rows: SortedMap<Row>): Networks => {
  const valid: Network[] = [];
  const broken: BrokenNetwork[] = [];
  for (const row of rows.values()) {
    if (!isEnabled(row)) continue;
    const name = row['netname'] || `${row['net'] ?? ''}-${row['mask'] ?? ''}`;
    const prefix = prefixOfRow(row);
    if (typeof prefix === 'string') broken.push({ name, reason: prefix });
    else valid.push({ name, row, prefix });
  }
  return { valid, broken, longestFirst: valid.toSorted((a, b) => b.prefix.bits - a.prefix.bits) };
});

/** The network a row stands for, or why it is none. */
export function prefixOfRow({ net = '', mask = '' }: Row): Prefix | string {
  const ip = parseIp(net);
  if (!ip) return `its net "${net}" is not a network address`;
  const bits = maskBits(mask, ip.family);
  if (bits === undefined) return `its mask "${mask}" is not a mask of an IPv${ip.family} network`;
  const prefix = prefixOf(ip, bits);
  if (prefix.value === ip.value) return prefix;
  return `its net ${net} is not the first address of a network with mask ${mask}, which would be ${ipText(prefix)}`;
}

/** All networks but broken ones, in the order of the table. */
export const networksOf = (snapshot: Snapshot): readonly Network[] => read(snapshot).valid;

/** Rows that are no valid network, and why. */
export const brokenNetworks = (snapshot: Snapshot): readonly BrokenNetwork[] => read(snapshot).broken;

/** The smallest network that contains the address. */
export const networkOf = (snapshot: Snapshot, ip: Ip): Network | undefined =>
  read(snapshot).longestFirst.find(({ prefix }) => contains(prefix, ip));

/** The domain of hosts with that address. */
export const domainOf = (snapshot: Snapshot, ip: Ip): string | undefined =>
  networkOf(snapshot, ip)?.row['domain'] || siteValue(snapshot, 'domain') || undefined;

/** Refuses a gateway that hosts of the network cannot reach. */
export function checkGateway(name: string, row: Row): void {
  const problem = gatewayProblem(name, row);
  if (problem !== undefined) throw new Fault('invalid', problem);
}

/** What is wrong with a gateway outside of the network that is not a router's own address on the link either, as IPv6 has. */
export function gatewayProblem(name: string, row: Row): string | undefined {
  const gateway = parseIp(row['gateway'] ?? '');
  const prefix = prefixOfRow(row);
  if (!gateway || typeof prefix === 'string' || contains(prefix, gateway)) return undefined;
  if (prefix.family === 6 && gateway.family === 6 && ipKind(gateway) === 'link-local') return undefined;
  return `Network ${name}, gateway: ${ipText(gateway)} is not inside ${prefixText(prefix)}; give an address of the network, or <xcatmaster>.`;
}
