import { Fault } from '../../core/errors.ts';
import {
  contains,
  type Ip,
  ipKind,
  ipText,
  isNetworkEnd,
  isSameIp,
  parseIp,
  type Prefix,
  prefixText,
} from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import { checkHostName } from '../../objects/host-name-check.ts';
import type { Resolve } from '../../objects/host-names.ts';
import { brokenNetworks, checkGateway, type Network, networksOf } from '../../objects/networks.ts';
import { type AddressRange, isWithin, parseRanges, rangeText } from './address-ranges.ts';
import { type ServedNics, servedNics } from './dhcp-interfaces.ts';
import type { Machine, OwnAddress } from './machine.ts';
import { subnetIds } from './subnet-ids.ts';

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
  /** Where boot files come from; undefined: machines are told nothing about booting. */
  readonly bootServer: string | undefined;
}

const ownAddress = '<xcatmaster>';

export interface PlannedSubnets {
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
        `Network ${what}: DHCP cannot tell which of them a machine is in. Remove one of them.`,
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
