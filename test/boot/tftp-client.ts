import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** Fetches a file as firmware does: from an address, one block after another, and again what was lost. */
export async function tftpGet(
  from: string,
  port: number,
  name: string,
  { blockSize = 1_024, server = '127.0.0.1' } = {},
): Promise<Buffer> {
  const socket = createSocket('udp4');
  socket.bind(0, from);
  await once(socket, 'listening');
  const blocks: Buffer[] = [];
  let last = Buffer.from(`\0\u0001${name}\0octet\0blksize\0${blockSize}\0`, 'latin1');
  let to = port;
  const send = (): void => socket.send(last, to, server);
  const again = setInterval(send, 2_000);
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (packet, peer) => {
        const [kind, number] = [packet.readUInt16BE(0), packet.readUInt16BE(2)];
        if (kind === 5) reject(new Error(packet.toString('latin1', 4)));
        to = peer.port;
        // The options are agreed on, or the next block has come.
        if (kind === 3 && number === ((blocks.length + 1) & 0xffff)) blocks.push(packet.subarray(4));
        last = Buffer.from([0, 4, (blocks.length >> 8) & 0xff, blocks.length & 0xff]);
        send();
        if (kind === 3 && blocks.at(-1)!.length < blockSize) resolve(Buffer.concat(blocks));
      });
      send();
    });
  } finally {
    clearInterval(again);
    socket.close();
  }
}
