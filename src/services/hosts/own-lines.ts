import { hostname, networkInterfaces } from 'node:os';
import { ipKey, ipKind, parseIp } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import type { HostLine } from './hosts-file.ts';

/** Whether a line of the hosts file is this machine's own: loopback, localhost, one of its addresses, or its name. */
export function ownLines(snapshot: Snapshot): (line: HostLine) => boolean {
  const addresses = new Set<number | bigint>();
  const add = (text: string): void => {
    const ip = parseIp(text);
    if (ip) addresses.add(ipKey(ip));
  };
  for (const list of Object.values(networkInterfaces())) for (const { address } of list ?? []) add(address);
  add(siteValue(snapshot, 'master') ?? '');
  const name = hostname().toLowerCase().split('.', 1)[0]!;
  const isOwnName = (text: string): boolean => {
    const first = text.toLowerCase().split('.', 1)[0]!;
    return first === name || first === 'localhost';
  };
  return ({ ip, names }) =>
    ip !== undefined && (ipKind(ip) !== 'host' || addresses.has(ipKey(ip)) || names.some(isOwnName));
}
