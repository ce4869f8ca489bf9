/**
 * A DHCPv6 client that calls itself what it is told to: `dhcp6-client.ts INTERFACE DUID` (in hex) asks for an address, takes it and
 * prints it; an empty line if it gets none. A program of its own, so that it can be in another network namespace.
 */
import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { addressText6, option6, optionsOf } from './dhcp6-packet.ts';

const [nic = '', duid = ''] = process.argv.slice(2);
const codes = { client: 1, server: 2, association: 3, address: 5 } as const;
const kinds = { solicit: 1, advertise: 2, request: 3, reply: 7 } as const;
const own = networkInterfaces()[nic]?.find(({ address }) => address.startsWith('fe80'))?.address ?? '';
const association = option6(codes.association, Buffer.alloc(12, 1));
const identity = option6(codes.client, Buffer.from(duid, 'hex'));

const message = (kind: number, ...parts: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from([kind, 1, 2, 3]), identity, ...parts]);

/** The address in an answer; empty if it has none. */
function offered(answer: Buffer): string {
  const inside = optionsOf(answer.subarray(4)).get(codes.association)?.subarray(12);
  const address = inside && optionsOf(inside).get(codes.address);
  return address ? addressText6(address.subarray(0, 16)) : '';
}

const socket = createSocket({ type: 'udp6', reuseAddr: true });
const send = (packet: Buffer): void => socket.send(packet, 547, `ff02::1:2%${nic}`);
let asked = message(kinds.solicit, association);
const again = setInterval(() => send(asked), 1_000);
const end = (address: string): void => {
  console.log(address);
  clearInterval(again);
  clearTimeout(late);
  socket.close();
};
const late = setTimeout(() => end(''), 10_000);
socket.on('message', (answer) => {
  const address = offered(answer);
  if (answer[0] === kinds.reply || address === '') return end(answer[0] === kinds.reply ? address : '');
  if (answer[0] !== kinds.advertise || asked[0] !== kinds.solicit) return;
  const server = option6(codes.server, optionsOf(answer.subarray(4)).get(codes.server)!);
  send((asked = message(kinds.request, server, association)));
});
socket.bind(546, `${own}%${nic}`, () => send(asked));
