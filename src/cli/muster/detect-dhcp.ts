import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { UsageError } from '../errors.ts';
import type { Finding, Findings } from './checks.ts';

/** On which wire to ask, and as whom. */
export interface Wire {
  readonly nic: string | undefined;
  readonly mac: string | undefined;
  readonly seconds: string | undefined;
}

interface Offer {
  readonly server: string;
  readonly address: string;
  readonly next: string;
}

const ports = { server: 67, client: 68 } as const;
const usualSeconds = 10;
const again = 1_000;
const magic = 0x63825363;
const option = { type: 53, server: 54, wanted: 55, end: 255 } as const;
const message = { discover: 1, offer: 2 } as const;
/** Subnet mask, router, name servers, boot server and boot file: what a machine that boots from the network asks for. */
const wanted = [1, 3, 6, 66, 67];

/** A DHCPDISCOVER (RFC 2131) whose answers are to be broadcast: the address that they offer is not ours. */
export function discoverPacket(mac: Buffer, id: Buffer): Buffer {
  const packet = Buffer.alloc(240);
  packet.set([1, 1, 6, 0]);
  packet.set(id, 4);
  packet.writeUInt16BE(0x8000, 10);
  packet.set(mac, 28);
  packet.writeUInt32BE(magic, 236);
  const options = [option.type, 1, message.discover, option.wanted, wanted.length, ...wanted, option.end];
  // Some servers drop what is shorter than a BOOTP packet.
  return Buffer.concat([packet, Buffer.from(options)], 300);
}

/** What a packet offers for our question; undefined: it is something else. */
export function readOffer(packet: Buffer, id: Buffer, from: string): Offer | undefined {
  if (packet.length < 240 || packet[0] !== 2 || !packet.subarray(4, 8).equals(id)) return undefined;
  if (packet.readUInt32BE(236) !== magic) return undefined;
  const options = new Map<number, Buffer>();
  for (let at = 240; at + 1 < packet.length && packet[at] !== option.end; ) {
    // A zero is padding, and has no length.
    if (packet[at] === 0) at += 1;
    else {
      const length = packet[at + 1]!;
      options.set(packet[at]!, packet.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
  }
  if (options.get(option.type)?.[0] !== message.offer) return undefined;
  const server = options.get(option.server);
  return {
    server: server?.length === 4 ? server.join('.') : from,
    address: packet.subarray(16, 20).join('.'),
    next: packet.subarray(20, 24).join('.'),
  };
}

const about = 'detect_dhcpd';
const finding = (well: boolean, text: string): Finding => ({ well, what: about, text });

/** Asks on an interface of this machine for an address, takes none, and lists the servers that offer one. */
export async function* detectDhcp(wire: Wire): Findings {
  const { nic, address, mac, seconds } = checkedWire(wire);
  yield finding(true, `Start to detect DHCP, please wait ${seconds} seconds`);
  const offers = await ask(address, mac, seconds * 1_000);
  const count = `There are ${offers.length} servers replied to dhcp discover.`;
  if (offers.length === 0)
    yield finding(false, `${count} Nodes behind ${nic} get no address; makedhcp -n sets up the server of muster.`);
  else yield finding(true, count);
  for (const { server, address: offered, next } of offers)
    yield finding(true, `Server:${server} assign IP [${offered}]. The next server is [${next}]!`);
  if (offers.length > 1)
    yield finding(
      false,
      `Nodes behind ${nic} may get their address from any of them; leave one, and switch off the others.`,
    );
}

function checkedWire({ nic, mac, seconds }: Wire) {
  if (nic === undefined) throw new UsageError(`${about} needs -i INTERFACE: the interface to ask on, of this machine.`);
  const addresses = networkInterfaces()[nic];
  const own = addresses?.find(({ family }) => family === 'IPv4');
  if (!own)
    throw new UsageError(
      addresses
        ? `The interface ${nic} has no IPv4 address, so nothing can be asked there; give it one first.`
        : `This machine has no interface ${nic} that is up; ip -brief address lists them.`,
    );
  const bytes = Buffer.from((mac ?? own.mac).replaceAll(/[:-]/g, ''), 'hex');
  if (bytes.length !== 6) throw new UsageError(`-m ${mac} is not a MAC address such as 52:54:00:12:34:56.`);
  const time = Number(seconds ?? usualSeconds);
  if (!Number.isInteger(time) || time < 1 || time > 3_600)
    throw new UsageError(`-d ${seconds} is not a number of seconds from 1 to 3600.`);
  return { nic, address: own.address, mac: bytes, seconds: time };
}

/** The kernel sends a broadcast out of the interface whose address the socket has; only a socket without one gets broadcasts. */
async function ask(address: string, mac: Buffer, time: number): Promise<readonly Offer[]> {
  const id = randomBytes(4);
  const offers = new Map<string, Offer>();
  const [sender, receiver] = [await bound(address), await bound('0.0.0.0')];
  try {
    receiver.on('message', (packet, { address: from }) => {
      const offer = readOffer(packet, id, from);
      if (offer) offers.set(offer.server, offer);
    });
    sender.setBroadcast(true);
    for (let left = time; left > 0; left -= again) {
      sender.send(discoverPacket(mac, id), ports.server, '255.255.255.255');
      await pause(Math.min(left, again));
    }
    return [...offers.values()];
  } finally {
    sender.close();
    receiver.close();
  }
}

async function bound(address: string): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true });
  socket.bind(ports.client, address);
  try {
    await once(socket, 'listening');
    return socket;
  } catch (error) {
    const { code, message: reason } = error as NodeJS.ErrnoException;
    if (code === 'EACCES')
      throw new UsageError(`${about} must use port ${ports.client}, which only root may: run it as root.`);
    if (code === 'EADDRINUSE')
      throw new UsageError(`Port ${ports.client} is in use, by a DHCP client of this machine; stop that first.`);
    throw new UsageError(`Port ${ports.client} of ${address} cannot be used: ${reason}.`);
  }
}
