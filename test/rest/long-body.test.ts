import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendLongBody } from '../../src/rest/http/send.ts';

const pieces = Array.from({ length: 200 }, (_, i) => Buffer.alloc(65_536, i % 256));
const server = createServer();
let ended: Promise<void>;
let response: ServerResponse;

beforeEach(async () => {
  server.removeAllListeners('request');
  ended = new Promise((resolve, reject) => {
    server.once('request', (_request, given) => {
      response = given;
      sendLongBody(given, 200, { 'X-Test': 'yes' }, pieces).then(resolve, reject);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const ask = () => request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end();

test('arrives whole, with its length and headers', async () => {
  const [reply] = await once(ask(), 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  expect(reply.headers).toMatchObject({ 'x-test': 'yes', 'content-length': String(200 * 65_536) });
  expect(Buffer.concat(chunks).equals(Buffer.concat(pieces))).toBe(true);
  await ended;
});

test('is not piled up for a client that does not read', async () => {
  const [reply] = await once(ask(), 'response');
  reply.pause();
  await wait(200);
  expect(response.writableLength).toBeLessThan(1_048_576);
  reply.resume();
  await once(reply, 'end');
  await ended;
});

test('is given up when the client leaves', async () => {
  const [reply] = await once(ask(), 'response');
  reply.destroy();
  await ended;
  expect(response.destroyed).toBe(true);
});
