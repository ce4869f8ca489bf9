import { type Ip, ipText, reverseName } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { networkOf } from '../../objects/networks.ts';
import { isHostName } from '../../protocols/dns/names.ts';
import type { DnsRecord } from './ledger.ts';
import { zoneOf, type Zones } from './zones.ts';

/** A host as DNS shows it: its address, its name, and other names for it. */
export interface Host {
  readonly ip: Ip;
  readonly name: string;
  readonly aliases: readonly string[];
}

/** The records of a host, or why it gets none. Aliases that DNS cannot have are left out with a warning. */
export function recordsOfHost(
  snapshot: Snapshot,
  { names: zones, domain: siteDomain }: Zones,
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
  const domain = (network.row['domain'] || siteDomain).toLowerCase();
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
