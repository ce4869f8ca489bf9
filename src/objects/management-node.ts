import { hostname, networkInterfaces } from 'node:os';
import { type Ip, ipKey, parseIp } from '../core/ip.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { siteValue } from './effective.ts';

/** This machine as files and zones know it. */
export interface ManagementNode {
  hasAddress(ip: Ip): boolean;
  /** With any domain; localhost is its name as well. */
  hasName(name: string): boolean;
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
  return {
    hasAddress: (ip) => addresses.has(ipKey(ip)),
    hasName: (name) => names.has(firstPart(name)),
  };
}
