import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket';
const request = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;

const halfOpen = { rejectUnauthorized: false, allowHalfOpen: true };

/** A client that never closes its side by itself. */
async function client(): Promise<TLSSocket> {
  const socket = connect(server.port, '127.0.0.1', halfOpen);
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

it('an upgrade behind a request that is not answered yet ends the connection, and nothing else', async () => {
  const socket = await client();
  socket.resume();
  const ended = Promise.race([once(socket, 'end'), once(socket, 'close')]);
  socket.write(request('/muster/health') + request('/console', `${upgrade}\r\n`));
  await ended;
  socket.destroy();
  expect(await server.ok('GET', '/health')).toMatchObject({ status: 'up' });
});

it('a stranger who stays after the refusal is disconnected', async () => {
  const socket = await client();
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk)));
  socket.write(request('/muster/nodes/n1/console', `${upgrade}\r\n`));
  await expect.poll(() => text, { timeout: 30_000 }).toMatch(/^HTTP\/1\.1 4\d\d /);
  // Whoever writes to a connection that nobody has any more hears so.
  const writing = setInterval(() => socket.write('x'), 500);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(writing);
  expect(socket.errored).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) });
});
