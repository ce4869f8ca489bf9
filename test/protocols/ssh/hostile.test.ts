import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import ssh2 from 'ssh2';
import { afterEach, expect, it } from 'vitest';
import { SshClient } from '../../../src/protocols/ssh/client.ts';
import { newKeyPair } from '../../../src/protocols/ssh/host-keys.ts';
import { complaint, memoryHostKeys, run } from './world.ts';

let server: Server | undefined;
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

/** What a client says of something that answers like this. */
async function saidOf(answer: (socket: Socket) => void): Promise<string> {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    answer(socket);
  });
  server.listen(0, '127.122.200.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new SshClient({ privateKey: newKeyPair('test').privateKey, hostKeys: memoryHostKeys() });
  const target = { name: 'n1', address: '127.122.200.1', port, user: 'root' };
  const sentence = await complaint(run(client, target, 'true', { connectTimeout: 2_000 }));
  await client.close();
  return sentence;
}

function flood(socket: Socket, piece: Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

const packet = (length: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(length >>> 0);
  return Buffer.concat([head, body]);
};
const hello = Buffer.from('SSH-2.0-OpenSSH_9.2\r\n');

it.each<[string, (socket: Socket) => void]>([
  ['speaks HTTP', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['hangs up at once', (socket) => socket.end()],
  ['hangs up after its name', (socket) => socket.end(hello)],
  ['speaks version 1', (socket) => socket.write('SSH-1.5-old\r\n')],
  ['never ends its first line', (socket) => flood(socket, Buffer.alloc(65_536, 'x'))],
  ['never ends its greetings', (socket) => flood(socket, Buffer.from('welcome\r\n'.repeat(5_000)))],
  ['greets at great length', (socket) => socket.write(`${'welcome '.repeat(1_000)}\r\n`.repeat(100))],
  [
    'announces a packet of 4 GiB',
    (socket) => socket.write(Buffer.concat([hello, packet(0xffff_ffff, Buffer.alloc(64))])),
  ],
  ['announces an empty packet', (socket) => socket.write(Buffer.concat([hello, packet(0, Buffer.alloc(64))]))],
  [
    'offers nothing we know',
    (socket) =>
      socket.write(Buffer.concat([hello, packet(28, Buffer.concat([Buffer.from([4, 20]), Buffer.alloc(26)]))])),
  ],
  ['sends noise', (socket) => socket.write(Buffer.concat([hello, Buffer.alloc(5_000, 0xa5)]))],
])('something that %s is told in one sentence', async (_what, answer) => {
  const before = process.memoryUsage.rss();
  const sentence = await saidOf(answer);
  expect(sentence).toMatch(/^(its sshd|what answers|the connection to its sshd) .*127\.122\.200\.1:\d+.*\.$/);
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 << 20);
});

it('what greets at great length is left before all of it has come', async () => {
  const sentence = await saidOf((socket) => socket.write(`${'welcome '.repeat(1_000)}\r\n`.repeat(100)));
  expect(sentence).toMatch(/sent more than 262144 bytes before any login/);
});

it('nobody is let choose the prime we compute with', async () => {
  const keys = newKeyPair('host');
  const sshd = new ssh2.Server({
    hostKeys: [keys.privateKey],
    algorithms: { kex: ['diffie-hellman-group-exchange-sha256'] },
  });
  sshd.on('connection', (peer: { on(event: 'error', listener: () => void): void }) => peer.on('error', () => {}));
  const sentence = await saidOf((socket) => sshd.injectSocket(socket));
  expect(sentence).toMatch(/speaks no SSH that muster can use: .*key exchange/);
});
