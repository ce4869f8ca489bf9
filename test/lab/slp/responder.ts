// A program that plays devices with SLPv2 agents and Redfish services on addresses of the interface it is given.
import { createSocket, type Socket } from 'node:dgram';
import { createServer } from 'node:net';
import type { LabDevice, Seen } from './devices.ts';
import { agentAdvert, attributeReply, overflow, readRequest, type Request, serviceReply } from './wire.ts';

const seen = { multicasts: 0, broadcasts: 0, unicasts: 0, connections: 0, mostPrevious: 0, longest: 0 };
const sockets: { close(): void }[] = [];

const urlOf = ({ address }: LabDevice, { type, host, url }: LabDevice['services'][number]): string =>
  url ?? `${type}://${host ?? address}`;

const isOf = (type: string, asked: string): boolean => type === asked || type.startsWith(`${asked}:`);

const has = ({ answersAll }: LabDevice, type: string, asked: string): boolean => answersAll || isOf(type, asked);

function answer(device: LabDevice, { fn, xid, subject }: Request, byTcp: boolean): Buffer | undefined {
  if (fn === 6) {
    const service = device.services.find((each) => urlOf(device, each) === subject);
    return service ? attributeReply({ xid }, service.attributes) : attributeReply({ xid }, '', 1);
  }
  if (subject === 'service:directory-agent')
    return device.directory ? agentAdvert({ xid }, `service:directory-agent://${device.address}`) : undefined;
  const urls = device.services.filter(({ type }) => has(device, type, subject)).map((each) => urlOf(device, each));
  if (byTcp || device.fits === undefined || urls.length <= device.fits) return serviceReply({ xid }, urls);
  return serviceReply({ xid, flags: overflow }, urls.slice(0, device.fits));
}

interface Heard {
  readonly device: LabDevice;
  readonly socket: Socket;
  deaf: number;
}

function toAll(
  all: readonly Heard[],
  how: 'multicast' | 'broadcast',
  packet: Buffer,
  port: number,
  address: string,
): void {
  const request = readRequest(packet);
  seen[how === 'multicast' ? 'multicasts' : 'broadcasts']++;
  seen.mostPrevious = Math.max(seen.mostPrevious, request.previous.length);
  seen.longest = Math.max(seen.longest, packet.length);
  for (const one of all) {
    const { device, socket } = one;
    if (device.hears !== undefined && device.hears !== how) continue;
    if (request.previous.includes(device.address) && !device.floods) continue;
    if (
      !device.services.some(({ type }) => has(device, type, request.subject)) &&
      request.subject !== 'service:directory-agent'
    )
      continue;
    // A directory answers others only when they ask it alone.
    if (device.directory && request.subject !== 'service:directory-agent') continue;
    if (one.deaf > 0) {
      one.deaf--;
      continue;
    }
    const reply = answer(device, request, false);
    if (reply) for (let i = 0; i < (device.floods ?? 1); i++) socket.send(reply, port, address);
  }
}

const bound = (socket: Socket, port: number, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    sockets.push(socket);
    socket.once('error', reject);
    socket.bind({ port, address }, () => resolve());
  });

async function playAgent(device: LabDevice): Promise<Heard> {
  const six = device.address.includes(':');
  const socket = createSocket({ type: six ? 'udp6' : 'udp4', reuseAddr: true });
  socket.on('message', (packet, { port, address }) => {
    seen.unicasts++;
    const reply = answer(device, readRequest(packet), false);
    if (reply) socket.send(reply, port, address);
  });
  await bound(socket, 427, device.address);
  const server = createServer((connection) => {
    seen.connections++;
    connection.on('error', () => {});
    connection.once('data', (packet) => connection.end(answer(device, readRequest(packet), true) ?? ''));
  });
  sockets.push(server);
  await new Promise<void>((resolve) => server.listen(427, device.address, resolve));
  return { device, socket, deaf: device.deaf ?? 0 };
}

const redfishAnswer = (address: string, uuid: string): string =>
  [
    'HTTP/1.1 200 OK',
    'CACHE-CONTROL:max-age=1800',
    'ST:urn:dmtf-org:service:redfish-rest:1:15',
    `USN:uuid:${uuid}::urn:dmtf-org:service:redfish-rest:1:15`,
    `AL:https://${address}/redfish/v1/`,
    'EXT:',
    '',
    '',
  ].join('\r\n');

/** Devices with Redfish services; those that share a family hear the questions to its group. */
async function playRedfish(devices: readonly LabDevice[], own: string, name: string): Promise<void> {
  for (const six of [false, true]) {
    const type = six ? 'udp6' : 'udp4';
    const playing = devices.flatMap(({ address, redfish, ssdp }) => {
      const packets = ssdp ?? (redfish ? [redfishAnswer(address, redfish)] : []);
      return packets.length > 0 && address.includes(':') === six ? [{ address, packets }] : [];
    });
    if (playing.length === 0) continue;
    const senders = await Promise.all(
      playing.map(async ({ address, packets }) => {
        const socket = createSocket({ type, reuseAddr: true });
        await bound(socket, 1900, address);
        return { packets: packets.map((packet) => Buffer.from(packet, 'latin1')), socket };
      }),
    );
    const group = createSocket({ type, reuseAddr: true, ipv6Only: six });
    group.on('message', (packet, { port, address: to }) => {
      const text = packet.toString();
      if (!text.startsWith('M-SEARCH * HTTP/1.1\r\n') || !text.includes('\r\nMAN: "ssdp:discover"\r\n')) return;
      if (!text.includes('\r\nST: urn:dmtf-org:service:redfish-rest:1\r\n')) return;
      for (const { packets, socket } of senders) for (const each of packets) socket.send(each, port, to);
    });
    await bound(group, 1900, six ? '::' : '239.255.255.250');
    group.addMembership(six ? 'ff02::c' : '239.255.255.250', six ? `::%${name}` : own);
  }
}

async function play({ devices, name }: { devices: readonly LabDevice[]; name: string }): Promise<void> {
  for (const socket of sockets.splice(0)) socket.close();
  Object.assign(seen, { multicasts: 0, broadcasts: 0, unicasts: 0, connections: 0, mostPrevious: 0, longest: 0 });
  const all = await Promise.all(devices.map(playAgent));
  const four = all.filter(({ device }) => !device.address.includes(':'));
  const six = all.filter(({ device }) => device.address.includes(':'));
  const own = four[0]!.device.address;
  const [a, b] = own.split('.');
  // Bound to what packets are sent to, each hears one way of asking only.
  const group = createSocket({ type: 'udp4', reuseAddr: true });
  group.on('message', (packet, { port, address }) => toAll(four, 'multicast', packet, port, address));
  await bound(group, 427, '239.255.255.253');
  group.addMembership('239.255.255.253', own);
  const broadcast = createSocket({ type: 'udp4', reuseAddr: true });
  broadcast.on('message', (packet, { port, address }) => toAll(four, 'broadcast', packet, port, address));
  await bound(broadcast, 427, `${a}.${b}.255.255`);
  await playRedfish(devices, own, name);
  if (six.length === 0) return;
  const group6 = createSocket({ type: 'udp6', reuseAddr: true, ipv6Only: true });
  group6.on('message', (packet, { port, address }) => toAll(six, 'multicast', packet, port, address));
  await bound(group6, 427, '::');
  group6.addMembership('ff02::116', `::%${name}`);
}

process.on('message', ({ id, ...question }: { id: number; play?: Parameters<typeof play>[0] }) => {
  const done: Promise<Seen | undefined> = question.play
    ? play(question.play).then(() => undefined)
    : Promise.resolve(seen);
  done.then(
    (value) => process.send?.({ id, value }),
    (error: Error) => process.send?.({ id, error: error.message }),
  );
});
