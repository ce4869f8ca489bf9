import { Fault } from '../../core/errors.ts';
import {
  contains,
  type Ip,
  ipKind,
  ipText,
  isNetworkEnd,
  isSameIp,
  lastAddress,
  parseIp,
  parsePrefix,
  type Prefix,
  prefixText,
} from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import { checkHostName, type Resolve } from '../../objects/host-names.ts';
import { brokenNetworks, checkGateway, type Network, networksOf } from '../../objects/networks.ts';
import type { Machine, OwnAddress } from '../local-networks.ts';

export interface AddressRange {
  readonly first: Ip;
  readonly last: Ip;
}

export const rangeText = ({ first, last }: AddressRange): string => `${ipText(first)}-${ipText(last)}`;

export const isWithin = ({ first, last }: AddressRange, ip: Ip): boolean =>
  ip.family === first.family && ip.value >= first.value && ip.value <= last.value;

/** `A-B`, `A,B` or a block `A/N`, several separated by ";". A text says what is wrong. */
export function parseRanges(text: string, network: Prefix): AddressRange[] | string {
  const ranges: AddressRange[] = [];
  for (const piece of text.split(';').map((part) => part.trim())) {
    if (piece === '') continue;
    const range = parseRange(piece);
    if (!range) return `"${piece}" is not a range such as 10.0.0.100-10.0.0.200`;
    if (!contains(network, range.first) || !contains(network, range.last))
      return `${rangeText(range)} is not inside ${prefixText(network)}`;
    if (range.first.value > range.last.value) return `${rangeText(range)} counts backwards`;
    const other = ranges.find(({ first, last }) => first.value <= range.last.value && range.first.value <= last.value);
    if (other) return `${rangeText(range)} overlaps ${rangeText(other)}`;
    ranges.push(range);
  }
  return ranges;
}

function parseRange(piece: string): AddressRange | undefined {
  const block = parsePrefix(piece);
  if (block) return { first: { family: block.family, value: block.value }, last: lastAddress(block) };
  const ends = piece.split(/\s*[-,]\s*|\s+/);
  const [first, last] = ends.map((end) => parseIp(end));
  return first && last && ends.length === 2 ? { first, last } : undefined;
}

/**
 * Leases and reservations refer to a subnet by a number of 32 bits, so it must stay the same whatever else is defined. In IPv4 it is
 * the network's address itself, in IPv6 a hash of the prefix; should two be equal, the later prefix gets the next free one.
 */
export function subnetIds(prefixes: readonly Prefix[]): number[] {
  const taken = new Set<number>();
  const order = prefixes.map((prefix, index) => ({ prefix, index, text: prefixText(prefix) }));
  const ids = new Array<number>(prefixes.length);
  for (const { prefix, index, text } of order.toSorted((a, b) => (a.text < b.text ? -1 : 1))) {
    let id = prefix.family === 4 ? Number(prefix.value) : hash(text);
    while (taken.has(id)) id = (id % highest) + 1;
    taken.add(id);
    ids[index] = id;
  }
  return ids;
}

const highest = 4_294_967_294;

/** FNV-1a, never 0 (which Kea uses for reservations of no subnet) and never the highest number. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return (value % (highest - 1)) + 1;
}

/** Which network interfaces DHCP serves: undefined for all; the value says whether machines on it learn what to boot. */
type ServedNics = ReadonlyMap<string, { readonly boot: boolean }> | undefined;

/** The name of this server among the groups of site.dhcpinterfaces. */
const managementNode = 'xcatmn';

/** site.dhcpinterfaces: `nic,nic` or `group|nic,nic;group|nic`, each nic with `:noboot` if machines on it must not boot from here. */
function servedNics(snapshot: Snapshot): ServedNics {
  const text = siteValue(snapshot, 'dhcpinterfaces')?.trim();
  if (!text) return undefined;
  const nics = new Map<string, { boot: boolean }>();
  for (const part of text.split(';')) {
    const mark = part.indexOf('|');
    if (mark >= 0 && part.slice(0, mark).trim() !== managementNode) continue;
    for (const item of part.slice(mark + 1).split(/[\s,]+/)) {
      if (item === '') continue;
      const [nic = '', flag, ...more] = item.split(':');
      if (!/^[\w.@-]{1,15}$/.test(nic) || more.length > 0 || (flag !== undefined && flag !== 'noboot'))
        throw new Fault('invalid', `Site attribute dhcpinterfaces: "${item}" is not the name of a network interface.`);
      nics.set(nic, { boot: flag === undefined });
    }
  }
  return nics;
}

/** A network as DHCP serves it; every value is checked. */
export interface Subnet {
  readonly id: number;
  readonly name: string;
  readonly prefix: Prefix;
  /** Undefined: reached through relays only. */
  readonly nic: string | undefined;
  readonly ranges: readonly AddressRange[];
  readonly gateway: string | undefined;
  readonly nameServers: readonly string[];
  readonly timeServers: readonly string[];
  readonly logServers: readonly string[];
  readonly domain: string | undefined;
  readonly mtu: number | undefined;
  /** Where boot files come from; undefined: machines learn nothing about booting. */
  readonly bootServer: string | undefined;
}

const ownAddress = '<xcatmaster>';

interface PlannedSubnets {
  readonly subnets: readonly Subnet[];
  /** Where relays of other networks may reach this server. */
  readonly reachable: readonly OwnAddress[];
  readonly messages: readonly string[];
}

/** All networks that can be served, and what is to be said about them. The first value that cannot be right is a fault. */
export async function planSubnets(snapshot: Snapshot, machine: Machine): Promise<PlannedSubnets> {
  const [broken] = brokenNetworks(snapshot);
  if (broken) throw new Fault('invalid', `Network ${broken.name}: ${broken.reason}.`);
  const networks = networksOf(snapshot).filter(({ prefix }) => ipKind(prefix) === 'host');
  checkOverlaps(networks);
  const work = new Planner(snapshot, machine, machine.resolver());
  const planned: Omit<Subnet, 'id'>[] = [];
  for (const network of networks) planned.push(...(await work.plan(network)));
  const ids = subnetIds(planned.map(({ prefix }) => prefix));
  const subnets = planned.map((subnet, i) => ({ id: ids[i]!, ...subnet }));
  return { subnets, reachable: work.reachable, messages: work.messages };
}

function checkOverlaps(networks: readonly Network[]): void {
  const sorted = networks.toSorted((a, b) =>
    a.prefix.family === b.prefix.family
      ? Number(a.prefix.value - b.prefix.value) || a.prefix.bits - b.prefix.bits
      : a.prefix.family - b.prefix.family,
  );
  let widest: Network | undefined;
  for (const network of sorted) {
    if (widest && contains(widest.prefix, network.prefix)) {
      const what = `${network.name} (${prefixText(network.prefix)}) lies in network ${widest.name} (${prefixText(widest.prefix)})`;
      throw new Fault(
        'invalid',
        `Network ${what}: DHCP cannot know which of them a machine is in. Remove one of them.`,
      );
    }
    widest = network;
  }
}

class Planner {
  readonly messages: string[] = [];
  readonly #snapshot: Snapshot;
  readonly #machine: Machine;
  readonly #resolve: Resolve;
  readonly #served: ServedNics;
  readonly #own: readonly OwnAddress[];

  constructor(snapshot: Snapshot, machine: Machine, resolve: Resolve) {
    this.#snapshot = snapshot;
    this.#machine = machine;
    this.#resolve = resolve;
    this.#served = servedNics(snapshot);
    this.#own = machine.addresses();
    for (const nic of this.#served?.keys() ?? [])
      if (!this.#own.some((own) => own.nic === nic))
        throw new Fault('invalid', `Site attribute dhcpinterfaces: no interface "${nic}" with an address is here.`);
  }

  get reachable(): OwnAddress[] {
    return this.#own.filter(({ nic, ip }) => ipKind(ip) === 'host' && (this.#served?.has(nic) ?? true));
  }

  /** None if the network is on an interface that is not served. */
  async plan(network: Network): Promise<Omit<Subnet, 'id'>[]> {
    const { name, row, prefix } = network;
    const facing = this.#own.filter(({ ip }) => contains(prefix, ip));
    const direct = facing.find(({ nic }) => this.#served?.has(nic) ?? true);
    if (facing.length > 0 && !direct) {
      this.messages.push(`Network ${name} is left out: site.dhcpinterfaces does not name ${facing[0]!.nic}.`);
      return [];
    }
    const nic = direct?.nic ?? this.#named(row['mgtifname']);
    const own = direct?.ip ?? (await this.#master(prefix.family));
    const { mtu } = row;
    const servers = async (column: string): Promise<string[]> => {
      const where = row[column] ? `Network ${name}, ${column}` : `Site attribute ${column}`;
      const text = row[column] || siteValue(this.#snapshot, column) || '';
      return this.#addresses(text, prefix.family, own, where);
    };
    const boots = (nic === undefined ? undefined : this.#served?.get(nic)?.boot) ?? true;
    const [tftp] = await this.#addresses(
      row['tftpserver'] || ownAddress,
      prefix.family,
      own,
      `Network ${name}, tftpserver`,
    );
    if (boots && tftp === undefined)
      this.messages.push(`Network ${name}: no server for boot files is known; set its tftpserver.`);
    return [
      {
        name,
        prefix,
        nic,
        ranges: this.#ranges(network),
        gateway: this.#gateway(network, direct?.ip),
        nameServers: await servers('nameservers'),
        timeServers: await servers('ntpservers'),
        logServers: await servers('logservers'),
        domain: this.#domain(network),
        mtu: mtu ? Number(mtu) : undefined,
        bootServer: boots ? tftp : undefined,
      },
    ];
  }

  #named(nic: string | undefined): string | undefined {
    const known = this.#own.some((own) => own.nic === nic);
    return known && (this.#served?.has(nic!) ?? true) ? nic : undefined;
  }

  async #master(family: 4 | 6): Promise<Ip | undefined> {
    const master = siteValue(this.#snapshot, 'master');
    if (!master) return undefined;
    const ip = parseIp(master) ?? (await this.#resolve(master));
    return ip?.family === family && ipKind(ip) === 'host' ? ip : undefined;
  }

  /** The addresses of the family in a list; a name that leads nowhere is a fault. */
  async #addresses(text: string, family: 4 | 6, own: Ip | undefined, where: string): Promise<string[]> {
    const found: string[] = [];
    for (const word of text.split(/[\s,]+/).filter((each) => each !== '')) {
      if (word === ownAddress) found.push(...(own ? [ipText(own)] : []));
      else {
        const ip = parseIp(word);
        if (!ip) checkHostName(word, where);
        const address = ip ?? (await this.#resolve(word));
        if (!address) throw new Fault('invalid', `${where}: the name ${word} leads to no address.`);
        if (address.family === family) found.push(ipText(address));
      }
    }
    return [...new Set(found)];
  }

  #ranges(network: Network): AddressRange[] {
    const { name, row, prefix } = network;
    const { dynamicrange, dhcpserver } = row;
    if (!dynamicrange) {
      this.messages.push(`Network ${name} has no dynamicrange: only nodes with reservations get addresses.`);
      return [];
    }
    const ranges = parseRanges(dynamicrange, prefix);
    if (typeof ranges === 'string') throw new Fault('invalid', `Network ${name}, dynamicrange: ${ranges}.`);
    if (ranges.some(({ first, last }) => isNetworkEnd(prefix, first) || isNetworkEnd(prefix, last)))
      throw new Fault('invalid', `Network ${name}, dynamicrange: it holds the network's first or last address.`);
    if (dhcpserver && !this.#isOwn(dhcpserver)) {
      this.messages.push(`The dynamic range of network ${name} is left to its dhcpserver ${dhcpserver}.`);
      return [];
    }
    this.#checkTaken(network, ranges);
    return ranges;
  }

  /** Addresses that are in use for good must not be given to anybody. */
  #checkTaken({ name, row }: Network, ranges: readonly AddressRange[]): void {
    const gateway = parseIp(row['gateway'] ?? '');
    const taken = [
      ...this.#own.map(({ nic, ip }) => ({ ip, whose: `the address of this management node on ${nic}` })),
      ...(gateway ? [{ ip: gateway, whose: "the network's gateway" }] : []),
    ];
    for (const { ip, whose } of taken) {
      const range = ranges.find((each) => isWithin(each, ip));
      if (!range) continue;
      const what = `${rangeText(range)} holds ${ipText(ip)}, ${whose}`;
      throw new Fault('invalid', `Network ${name}, dynamicrange: ${what}. Give the network a range without it.`);
    }
  }

  #isOwn(server: string): boolean {
    const ip = parseIp(server);
    if (server === ownAddress || server === siteValue(this.#snapshot, 'master')) return true;
    return ip !== undefined && this.#own.some((own) => isSameIp(own.ip, ip));
  }

  #gateway({ name, row, prefix }: Network, own: Ip | undefined): string | undefined {
    const { gateway } = row;
    if (!gateway) return undefined;
    if (gateway === ownAddress) {
      if (own && this.#machine.forwards(prefix.family)) return ipText(own);
      this.messages.push(`Network ${name} gets no gateway: this server does not forward packets for it.`);
      return undefined;
    }
    const ip = parseIp(gateway);
    if (!ip) throw new Fault('invalid', `Network ${name}, gateway: "${gateway}" is not an IP address.`);
    checkGateway(name, row);
    return ipText(ip);
  }

  #domain({ name, row }: Network): string | undefined {
    const domain = row['domain'] || siteValue(this.#snapshot, 'domain');
    if (domain) checkHostName(domain, row['domain'] ? `Network ${name}, domain` : 'Site attribute domain');
    return domain || undefined;
  }
}
