/**
 * A DHCP relay for one question: `dhcp-relay.ts FROM SERVER LINK MAC` asks SERVER from the address FROM for a machine on the network of
 * LINK, the relay's own address there, and prints the address offered. A program of its own, so that it can be in another network
 * namespace.
 */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { option6 } from './dhcp6-packet.ts';
import { addressBytes, givenAddress, packet4 } from './dhcp-packet.ts';

const [from = '', server = '', link = '', mac = ''] = process.argv.slice(2);
const hardware = Buffer.from(mac.replaceAll(':', ''), 'hex');

/** A SOLICIT in the envelope of a relay. */
function relayedSolicit(): Buffer {
  const machine = option6(1, Buffer.concat([Buffer.from([0, 3, 0, 1]), hardware]));
  const solicit = Buffer.concat([Buffer.from([1, 1, 2, 3]), machine, option6(3, Buffer.alloc(12, 1))]);
  return Buffer.concat([Buffer.from([12, 0]), addressBytes(link), addressBytes('fe80::1'), option6(9, solicit)]);
}

/** The address of the first address option. */
function offered6(reply: Buffer): string {
  const start = reply.indexOf(Buffer.from([0, 5, 0, 24]));
  return start < 0
    ? ''
    : reply
        .subarray(start + 4, start + 20)
        .toString('hex')
        .replaceAll(/(....)(?=.)/g, '$1:');
}

const six = isIPv6(server);
const port = six ? 547 : 67;
const socket = createSocket(six ? 'udp6' : 'udp4');
const late = setTimeout(() => socket.close(), 5_000);
socket.on('message', (reply) => {
  console.log(six ? offered6(reply) : givenAddress(reply));
  clearTimeout(late);
  socket.close();
});
socket.bind(port, from, () =>
  socket.send(six ? relayedSolicit() : packet4('discover', hardware, { relay: link }), port, server),
);
