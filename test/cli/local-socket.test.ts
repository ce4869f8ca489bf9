import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, createServer as createPlainServer, type Server as PlainServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Client } from '../../src/cli/client.ts';
import { placeOf } from '../../src/cli/places.ts';
import { Wire } from '../../src/cli/wire.ts';
import { temporaryDirectory } from '../harness/server.ts';

let path: string;
let server: Server | PlainServer | undefined;
beforeEach(() => {
  path = join(temporaryDirectory(), 'socket');
  server = undefined;
});
afterEach(() => server?.close());

async function serve(listener: RequestListener): Promise<void> {
  server = createServer(listener);
  await once(server.listen(path), 'listening');
}

const wire = () => new Wire(() => connect(path), 'localhost');
const client = () => new Client(() => [placeOf(`unix:${path}`, {}, undefined)]);
const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

it('carries more than waits at once, both ways, over one connection', async () => {
  let connections = 0;
  await serve((request, response) => void request.pipe(response));
  server!.on('connection', () => connections++);
  const connected = wire();
  for (const size of [1, 5_000_000, 3_000_000]) {
    const body = randomBytes(size);
    const reply = await connected.request({ method: 'POST', path: '/', headers: { 'Content-Length': size }, body });
    const chunks: Buffer[] = [];
    for await (const chunk of reply.body) chunks.push(chunk);
    expect(hash(Buffer.concat(chunks))).toBe(hash(body));
  }
  connected.close();
  expect(connections).toBe(1);
});

it('takes no more from the server than somebody reads', async () => {
  const size = 50_000_000;
  let taken = (): number => 0;
  await serve((request, response) => {
    taken = () => request.socket.bytesWritten - request.socket.writableLength;
    response.end(Buffer.alloc(size));
  });
  const connected = wire();
  const reply = await connected.request({ method: 'GET', path: '/', headers: {} });
  // Many more turns than all of it would take.
  for (let turn = 0; turn < 5_000; turn++) await new Promise(setImmediate);
  expect(taken()).toBeLessThan(size / 10);
  let got = 0;
  for await (const chunk of reply.body) got += chunk.length;
  expect(got).toBe(size);
  connected.close();
});

it.each([
  ['nobody listens', 'ECONNREFUSED', 'Connection refused'],
  ['there is none', 'ENOENT', 'there is no such socket'],
])('tells that %s', async (_, code, reason) => {
  if (code === 'ECONNREFUSED') {
    // A server that was killed leaves its socket.
    const killed = `require('node:net').createServer().listen('${path}', () => process.kill(process.pid, 'SIGKILL'))`;
    await new Promise((resolve) => execFile(process.execPath, ['-e', killed], resolve));
  }
  await expect(wire().request({ method: 'GET', path: '/', headers: {} })).rejects.toMatchObject({ cause: { code } });
  await expect(client().get('/nodes')).rejects.toMatchObject({ reason });
});

it('tells that a server left before its answer, and in the middle of it', async () => {
  const answers = ['', 'HTTP/1.1 200 OK\r\nContent-Le', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n["n1"'];
  server = createPlainServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(answers.shift()!));
  });
  await once(server.listen(path), 'listening');
  for (const _ of [1, 2, 3])
    await expect(client().get('/nodes')).rejects.toMatchObject({
      reason: 'the connection broke off before everything had arrived',
    });
});
