import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { Fault } from '../../core/errors.ts';

/** An address of this machine that questions to a whole network leave from. */
export interface Outlet {
  readonly interface: string;
  readonly family: 4 | 6;
  /** IPv6 addresses are link-local ones, with their zone. */
  readonly address: string;
  /** Undefined where there is none: IPv6, and networks of one or two addresses. */
  readonly broadcast: string | undefined;
}

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** The outlets of the interfaces that are named, by name or by one of their addresses; without names, of all but loopback. */
export function outletsOf(
  chosen: readonly string[] | undefined,
  interfaces: Interfaces = networkInterfaces(),
): Outlet[] {
  if (chosen === undefined) {
    return Object.entries(interfaces).flatMap(([name, infos = []]) =>
      infos.flatMap((info) => (info.internal ? [] : outletOf(name, info))),
    );
  }
  return chosen.flatMap((wanted) => {
    const [name, infos = []] =
      Object.entries(interfaces).find(([each]) => each === wanted) ?? holding(wanted, interfaces);
    const outlets = infos.flatMap((info) => outletOf(name, info));
    if (outlets.length > 0) return outlets;
    const known = Object.keys(interfaces).join(', ') || 'none';
    throw new Fault(
      'unavailable',
      `The setting discovery.interfaces names ${wanted}, which is no interface of this machine that is up and has an address. Those that are: ${known}.`,
    );
  });
}

function holding(address: string, interfaces: Interfaces): [name: string, infos: NetworkInterfaceInfo[]] {
  for (const [name, infos = []] of Object.entries(interfaces)) {
    const info = infos.find((each) => each.address === address);
    if (info) return [name, [info]];
  }
  return ['', []];
}

function outletOf(name: string, { family, address, netmask }: NetworkInterfaceInfo): Outlet[] {
  if (family === 'IPv4') return [{ interface: name, family: 4, address, broadcast: broadcastOf(address, netmask) }];
  if (!/^fe80:/i.test(address)) return [];
  return [{ interface: name, family: 6, address: `${address}%${name}`, broadcast: undefined }];
}

const octetsOf = (address: string): number[] => address.split('.').map(Number);

function broadcastOf(address: string, netmask: string): string | undefined {
  const mask = octetsOf(netmask);
  if (mask[3]! >= 254) return undefined;
  return octetsOf(address)
    .map((octet, i) => octet | (255 - mask[i]!))
    .join('.');
}
