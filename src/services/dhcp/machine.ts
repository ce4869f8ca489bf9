import { type Ip, parseIp } from '../../core/ip.ts';
import type { Resolve } from '../../objects/host-names.ts';
import { localAdapters } from '../interfaces.ts';
import { readOptional } from '../optional-file.ts';

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
