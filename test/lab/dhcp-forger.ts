/**
 * A user of a machine without any rights: `dhcp-forger.ts ADDRESS SERVER MAC` sends SERVER what firmware would, but from ADDRESS, once as
 * if it renewed its lease and once as if a relay had passed it on. A program of its own, so that it can be in another network namespace.
 */
import { createSocket } from 'node:dgram';
import { packet4 } from './dhcp-packet.ts';

const [address = '', server = '', mac = ''] = process.argv.slice(2);
const hardware = Buffer.from(mac.replaceAll(':', ''), 'hex');
const firmware = Buffer.concat([Buffer.from([93, 2, 0, 0, 60, 9]), Buffer.from('PXEClient'), Buffer.from([255])]);
const socket = createSocket('udp4');
socket.bind(0, address, () => {
  let left = 2;
  for (const relay of [undefined, address]) {
    const addresses = { client: address, ...(relay === undefined ? {} : { relay }) };
    const packet = Buffer.concat([packet4('request', hardware, addresses).subarray(0, -1), firmware]);
    socket.send(packet, 67, server, () => --left === 0 && socket.close());
  }
});
