import { Fault } from '../../core/errors.ts';
import { type Ip, ipKind, ipText, parseIp } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import { ownHostName } from '../../objects/networks.ts';
import { isHostName } from '../../protocols/dns/names.ts';
import type { HostsMapping } from './cluster-records.ts';
import type { Layout } from './layout.ts';
import type { DnsRecord } from '../ledger.ts';

/** Seconds that others may keep a record of a node. */
export const recordTtl = 3_600;

/** Seconds that others may remember that a name is not there: a new node should be found soon. */
const absentTtl = 60;

export interface Authority {
  readonly name: string;
  readonly address: DnsRecord;
}

/** A zone's first file, with the server's address if it is the zone that the server's name is in. From then on it is named's, which writes into it what updates have changed. */
export function renderZone(
  zone: string,
  serial: number,
  authority: Authority,
  isServersOwn: boolean,
  records: readonly DnsRecord[],
): string {
  const { name, address } = authority;
  const lines = [
    '$TTL 86400',
    `${zone}. IN SOA ${name}. root.${name}. ( ${serial} 10800 3600 604800 ${absentTtl} )`,
    `${zone}. IN NS ${name}.`,
    ...(isServersOwn ? [line(address, 86_400)] : []),
    ...records.map((record) => line(record, recordTtl)),
  ];
  return `${lines.join('\n')}\n`;
}

export const isIn = (zone: string, name: string): boolean => name === zone || name.endsWith(`.${zone}`);

const line = ({ name, type, data }: DnsRecord, ttl: number): string =>
  `${name}. ${ttl} IN ${type} ${type === 'PTR' || type === 'CNAME' ? `${data}.` : data}`;

/** The next serial number: that of the day, unless the zone is further on already (in the circle of RFC 1982). */
export function nextSerial(today: Date, previous: number | undefined): number {
  const day = Number(today.toISOString().slice(0, 10).replaceAll('-', '')) * 100;
  return previous === undefined || isLater(day, previous) ? day : (previous + 1) % 2 ** 32 || 1;
}

/** Whether serial number a comes after b. */
export const isLater = (a: number, b: number): boolean => a !== b && (a - b) >>> 0 < 2 ** 31;

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
