import { createSocket, type Socket } from 'node:dgram';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
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
      `The setting discovery.interfaces names ${wanted}, which is not an interface of this machine that is up and has an address. Use one of: ${known}.`,
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

/** A UDP socket of one outlet, or of none for questions to single addresses. */
export interface Port {
  readonly outlet: Outlet | undefined;
  readonly family: 4 | 6;
  /** A packet that cannot be sent counts as lost. */
  send(packet: Buffer, address: string, port: number): void;
  close(): void;
}

type Heard = (packet: Buffer, address: string, from: Port) => void;

interface PortOptions {
  readonly outlets: readonly Outlet[];
  /** Families of the addresses that are asked one by one. */
  readonly directed: readonly (4 | 6)[];
  readonly hops: number;
  readonly heard: Heard;
}

/** Answers of hundreds of devices come within milliseconds; the kernel gives as much of this as its limit lets it. */
const receiveBuffer = 4 * 1024 * 1024;
/** What one address may send during a search, and all together: a flood must not hold up everything else. */
const mostPerAddress = 8_192;
const mostPackets = 250_000;
const mostAddresses = 65_536;

/** Opens a socket for each outlet. An outlet that has just gone is left out; with none left there is nothing to search on. */
export async function openPorts({ outlets, directed, hops, heard }: PortOptions): Promise<Port[]> {
  const admitted = limited(heard);
  const opening = [
    ...outlets.map((outlet) => openPort(outlet.family, outlet, hops, admitted)),
    ...directed.map((family) => openPort(family, undefined, hops, admitted)),
  ];
  const opened = await Promise.allSettled(opening);
  const ports = opened.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const failed = opened.find((one) => one.status === 'rejected');
  if (ports.length === 0 && failed) {
    const reason = failed.reason as NodeJS.ErrnoException;
    const sentence = `muster could not open a UDP socket to search the networks with (${reason.code ?? reason.message}).`;
    throw new Fault('unavailable', sentence, { cause: reason });
  }
  return ports;
}

function limited(heard: Heard): Heard {
  const counts = new Map<string, number>();
  let total = 0;
  return (packet, address, from) => {
    const count = counts.get(address) ?? 0;
    if (total >= mostPackets || count >= mostPerAddress || (count === 0 && counts.size >= mostAddresses)) return;
    total++;
    counts.set(address, count + 1);
    heard(packet, address, from);
  };
}

async function openPort(family: 4 | 6, outlet: Outlet | undefined, hops: number, heard: Heard): Promise<Port> {
  const socket = createSocket({
    type: family === 4 ? 'udp4' : 'udp6',
    ipv6Only: family === 6,
    recvBufferSize: receiveBuffer,
  });
  try {
    await bind(socket, outlet?.address);
    if (outlet) {
      socket.setBroadcast(family === 4);
      socket.setMulticastInterface(family === 4 ? outlet.address : `::%${outlet.interface}`);
      socket.setMulticastTTL(hops);
    }
  } catch (error) {
    socket.close();
    throw error;
  }
  let closed = false;
  const port: Port = {
    outlet,
    family,
    send(packet, address, to) {
      if (!closed) socket.send(packet, to, address, () => {});
    },
    close() {
      if (closed) return;
      closed = true;
      socket.close();
    },
  };
  socket.on('message', (packet, { address }) => {
    if (!closed) heard(packet, address, port);
  });
  return port;
}

function bind(socket: Socket, address: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ port: 0, ...(address === undefined ? {} : { address }) }, () => {
      socket.off('error', reject);
      // What a socket reports later concerns single packets, and those may be lost.
      socket.on('error', () => {});
      resolve();
    });
  });
}
