/**
 * A user of a machine without any rights: `dhcp-forger.ts ADDRESS SERVER MAC RELAY...` sends SERVER what firmware would, but from ADDRESS:
 * as if it renewed its lease, and as if each RELAY had passed it on, also with the options that name the network of ADDRESS instead of
 * the relay's. A program of its own, so that it can be in another network namespace.
 */
import { createSocket } from 'node:dgram';
import { addressBytes, packet4 } from './dhcp-packet.ts';

const [address = '', server = '', mac = '', ...relays] = process.argv.slice(2);
const hardware = Buffer.from(mac.replaceAll(':', ''), 'hex');
const firmware = Buffer.concat([Buffer.from([93, 2, 0, 0, 60, 9]), Buffer.from('PXEClient')]);
const network = addressBytes(address);
const selections = [[], [118, 4, ...network], [82, 6, 5, 4, ...network]];

const forged = (addresses: Parameters<typeof packet4>[2], selection: readonly number[]): Buffer =>
  Buffer.concat([packet4('request', hardware, addresses).subarray(0, -1), firmware, Buffer.from([...selection, 255])]);

const packets = [
  forged({ client: address }, []),
  ...relays.flatMap((relay) => selections.map((selection) => forged({ client: address, relay }, selection))),
];
const socket = createSocket('udp4');
socket.bind(0, address, () => {
  let left = packets.length;
  for (const packet of packets) socket.send(packet, 67, server, () => --left === 0 && socket.close());
});
