import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { answerScripts } from '../../../../src/services/boot/server/quick-scripts.ts';

/** More than the buffers of a connection take. */
const text = 'x'.repeat(32_000_000);
const request = 'GET /boot/52-54-00-00-00-01.ipxe HTTP/1.1\r\nHost: x\r\n\r\n';

it('who asks on without reading the answers is not listened to meanwhile', async () => {
  const server = createServer();
  let asked = 0;
  let other: Socket | undefined;
  const { destroyAll } = answerScripts(
    server,
    () => () => undefined,
    (_path, socket) => {
      asked++;
      other = socket;
      return Promise.resolve(text);
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
    destroyAll();
    server.close();
  });
  socket.pause();
  socket.write(request);
  await expect.poll(() => other?.isPaused()).toBe(true);
  socket.write(request);
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume();
  await expect.poll(() => bytes, { timeout: 30_000 }).toBeGreaterThan(2 * text.length);
  expect(asked).toBe(2);
});
