/**
 * A machine that renews its lease: `dhcp-renewal.ts ADDRESS SERVER MAC` asks SERVER from ADDRESS, and prints the address it may keep.
 * A program of its own, so that it can be in another network namespace.
 */
import { createSocket } from 'node:dgram';
import { givenAddress, packet4 } from './dhcp-packet.ts';

const [address = '', server = '', mac = ''] = process.argv.slice(2);
const socket = createSocket('udp4');
const late = setTimeout(() => socket.close(), 5_000);
socket.on('message', (reply) => {
  console.log(givenAddress(reply));
  clearTimeout(late);
  socket.close();
});
const hardware = Buffer.from(mac.replaceAll(':', ''), 'hex');
socket.bind(68, address, () => socket.send(packet4('request', hardware, { client: address }), 67, server));
