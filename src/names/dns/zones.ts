import { Fault } from '../../core/errors.ts';
import { type Ip, ipKind, ipText, type Prefix, prefixText, reverseName, widthOf } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import { brokenNetworks, networkOf, networksOf } from '../../objects/networks.ts';
import { isHostName } from '../../protocols/dns/names.ts';
import type { DnsRecord } from '../ledger.ts';

export interface Zones {
  /** Of the site; the server itself has its name there. */
  readonly domain: string;
  readonly names: ReadonlySet<string>;
  /** Networks without reverse zones, and why. */
  readonly warnings: readonly string[];
}

/** The longest list of zones for one network. */
const maximumZones = 1_024;

/** A zone for every domain, and reverse zones for every network. */
export function zonesOf(snapshot: Snapshot): Zones {
  const domain = siteDomain(snapshot);
  const names = new Set([domain]);
  const ofAddresses: string[] = [];
  const warnings = brokenNetworks(snapshot).map(({ name, reason }) => `Ignoring network '${name}': ${reason}.`);
  for (const { name, row, prefix } of networksOf(snapshot)) {
    for (const attribute of ['domain', 'ddnsdomain'] as const) {
      const text = row[attribute];
      if (text) names.add(checkedDomain(text, `Network ${name}, networks.${attribute}`));
    }
    const zones = reverseZones(prefix);
    for (const zone of zones) {
      if (isOfAddress(zone)) ofAddresses.push(zone);
      else names.add(zone);
    }
    if (zones.length === 0) warnings.push(`Ignoring network '${name}': ${prefixText(prefix)} is no network of hosts.`);
  }
  // In a larger network of ours the address has its name there.
  for (const zone of ofAddresses) if (zoneOf(names, zone) === undefined) names.add(zone);
  return { domain, names, warnings };
}

function siteDomain(snapshot: Snapshot): string {
  const domain = siteValue(snapshot, 'domain');
  if (!domain)
    throw new Fault('invalid', 'site.domain is not set; DNS needs it: PUT /globalconf/attrs/domain {"domain":"..."}.', {
      reference: ['domain not defined in site table'],
    });
  return checkedDomain(domain, 'site.domain');
}

function checkedDomain(text: string, where: string): string {
  const domain = text.toLowerCase().replace(/\.$/, '');
  if (isHostName(domain) && !domain.endsWith('.arpa')) return domain;
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
  throw new Fault(
    'invalid',
    `${where}: ${shown} cannot be a zone; a domain has parts of at most 63 letters, digits and "-", separated by ".".`,
  );
}

/**
 * Reverse zones end at whole octets (nibbles for IPv6), so a network may need several: /25 and longer has one for each address, /17 to
 * /24 one for each /24, /9 to /16 one for each /16, anything larger one for each /8. None is larger than its network: clients of our
 * server would not find the names of the neighbours, which others serve.
 */
export function reverseZones(prefix: Prefix): string[] {
  if (ipKind(prefix) !== 'host') return [];
  const bits = zoneBits(prefix);
  const count = bits > prefix.bits ? 2 ** (bits - prefix.bits) : 1;
  if (count > maximumZones) return [];
  const rest = BigInt(widthOf(prefix.family) - bits);
  const first = prefix.value >> rest;
  return Array.from({ length: count }, (_, i) => zoneName(prefix.family, (first + BigInt(i)) << rest, bits));
}

function zoneBits({ family, bits }: Prefix): number {
  if (family === 6) return Math.max(4, Math.ceil(bits / 4) * 4);
  return Math.max(8, Math.ceil(bits / 8) * 8);
}

/** The reverse name without the labels of what varies inside the zone. */
function zoneName(family: 4 | 6, value: bigint, bits: number): string {
  const labels = reverseName({ family, value }).split('.');
  return labels.slice((widthOf(family) - bits) / (family === 4 ? 8 : 4)).join('.');
}

const labelsOf = { '.in-addr.arpa': 4, '.ip6.arpa': 32 } as const;

/** Whether a reverse zone is that of a single address. */
export const isOfAddress = (zone: string): boolean =>
  Object.entries(labelsOf).some(([top, labels]) => zone.endsWith(top) && zone.split('.').length === labels + 2);

/** The zone a name is in: the longest that ends it. */
export function zoneOf(zones: ReadonlySet<string>, name: string): string | undefined {
  for (let rest = name; ; ) {
    if (zones.has(rest)) return rest;
    const dot = rest.indexOf('.');
    if (dot < 0) return undefined;
    rest = rest.slice(dot + 1);
  }
}

/** A host as DNS shows it: its address, its name, and other names for it. */
export interface Host {
  readonly ip: Ip;
  readonly name: string;
  readonly aliases: readonly string[];
}

/** The records of a host, or why it gets none. Aliases that DNS cannot have are left out with a warning. */
export function recordsOfHost(
  snapshot: Snapshot,
  { names: zones, domain: ofSite }: Zones,
  host: Host,
  warn: (text: string) => void,
): DnsRecord[] {
  const { ip } = host;
  const address = ipText(ip);
  const ignore = (reason: string): DnsRecord[] => {
    warn(`Ignoring host ${shown(host.name)}, ${reason}.`);
    return [];
  };
  const network = networkOf(snapshot, ip);
  if (!network) return ignore(`its address ${address} is in no defined network`);
  const domain = (network.row['domain'] || ofSite).toLowerCase();
  const name = qualified(host.name, domain);
  if (!isHostName(name)) return ignore('which is no name that DNS allows for a host');
  if (!isForHosts(zones, name)) return ignore(`${name} is in no zone of this site`);
  const records: DnsRecord[] = [{ name, type: ip.family === 4 ? 'A' : 'AAAA', data: address }];
  const backwards = reverseName(ip);
  if (zoneOf(zones, backwards)) records.push({ name: backwards, type: 'PTR', data: name });
  for (const other of host.aliases) {
    const alias = qualified(other, domain);
    if (alias === name || records.some((record) => record.name === alias)) continue;
    if (!isHostName(alias) || !isForHosts(zones, alias))
      warn(`Ignoring ${shown(other)}, another name of ${name}: it is in no zone.`);
    else if (zones.has(alias)) warn(`Ignoring ${shown(other)}, another name of ${name}: it is the name of a zone.`);
    else records.push({ name: alias, type: 'CNAME', data: name });
  }
  return records;
}

/** Reverse zones have names of addresses only: another name there would keep an address from getting its own. */
const isForHosts = (zones: ReadonlySet<string>, name: string): boolean =>
  !name.endsWith('.arpa') && zoneOf(zones, name) !== undefined;

/** A name without a dot belongs to the domain of the host's network. */
function qualified(name: string, domain: string): string {
  const lower = name.toLowerCase().replace(/\.$/, '');
  return lower.includes('.') ? lower : `${lower}.${domain}`;
}

const shown = (name: string): string => JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}...` : name);
