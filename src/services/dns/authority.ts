import { Fault } from '../../core/errors.ts';
import { type Ip, ipKind, ipText, parseIp } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import { ownHostName } from '../../objects/management-node.ts';
import { isHostName } from '../../protocols/dns/names.ts';
import type { HostsMapping } from './hosts-mapping.ts';
import type { Layout } from './layout.ts';
import type { Authority } from './zone-file.ts';

/** What this machine is called in the site's domain. */
export function serverName(domain: string): string {
  const own = `${ownHostName()}.${domain}`;
  return isHostName(own) ? own : `muster.${domain}`;
}

/** The name of this machine, and the address under which nodes know it. */
export function authorityOf(snapshot: Snapshot, domain: string, hosts: HostsMapping, layout: Layout): Authority {
  const name = serverName(domain);
  const ip = addressOf(snapshot, name, hosts, layout);
  return { name, address: { name, type: ip.family === 4 ? 'A' : 'AAAA', data: ipText(ip) } };
}

function addressOf(snapshot: Snapshot, name: string, hosts: HostsMapping, { listen = [] }: Layout): Ip {
  const master = siteValue(snapshot, 'master') ?? '';
  const candidates = [
    parseIp(master),
    master === '' ? undefined : hosts.addressOf(master),
    hosts.addressOf(name),
    hosts.addressOf(name.split('.')[0]!),
    ...listen.map(({ host }) => parseIp(host)),
  ];
  const found = candidates.find((ip) => ip !== undefined && ipKind(ip) === 'host');
  if (found) return found;
  throw new Fault(
    'invalid',
    'The address of the management node is not known: PUT /globalconf/attrs/master {"master":"ADDRESS"}, or put its name into the hosts file.',
  );
}
