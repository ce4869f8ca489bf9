import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  agentFor,
  callJson,
  login,
  openSocket,
  readAll,
  removeDirectory,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

const directory = temporaryDirectory();
let service: Service;
const open: TLSSocket[] = [];

beforeAll(async () => {
  service = await startService(join(directory, 'data'), { under: ['prlimit', '--nofile=256'] });
});
afterAll(async () => {
  for (const socket of open) socket.destroy();
  await stopService(service);
  removeDirectory(directory);
});

/** Opens connections a few at a time, and answers those that were let in. */
async function openMany(count: number, address: string): Promise<TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  for (let i = 0; i < count; i += 20) {
    const few = await Promise.allSettled(Array.from({ length: 20 }, () => openSocket(service, address)));
    sockets.push(...few.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
  }
  open.push(...sockets);
  return sockets;
}

async function ask(socket: TLSSocket, path: string, token?: string): Promise<string> {
  const answer = new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${token ? `X-Auth-Token: ${token}\r\n` : ''}\r\n`);
  return (await answer).split('\r\n', 1)[0]!;
}

test('a process that may open 256 files says how many connections that makes', () => {
  expect(service.log()).toContain('at most 128 connections, and 64 instead of 1024 from one address');
});

test('400 idle connections of one address leave room for another', async () => {
  const agent = agentFor(service, { localAddress: '127.0.0.2', maxSockets: 4 });
  const idle = await openMany(400, '127.0.0.1');
  expect(idle.length).toBe(64);
  const token = await login(service, agent);
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      callJson(service, agent, token, 'POST', `/muster/nodes/n${i}`, { groups: 'all' }),
    ),
  );
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
  agent.destroy();
  for (const socket of idle) socket.destroy();
  await setTimeout(200);
});

test('when all connections are taken, idle ones of unknown clients give way, and those of known clients stay', async () => {
  const known = await openSocket(service, '127.0.0.3');
  open.push(known);
  const agent = agentFor(service, { localAddress: '127.0.0.2', maxSockets: 1 });
  const token = await login(service, agent);
  expect(await ask(known, '/muster/nodes', token)).toBe('HTTP/1.1 200 OK');
  // Half a request is as good as none.
  const first = await openMany(60, '127.0.0.4');
  for (const socket of first) socket.write('PUT /muster/nodes/n1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  const second = await openMany(60, '127.0.0.5');
  const gone = Promise.all(first.slice(0, 8).map((socket) => readAll(socket, 10_000)));
  const later = await openMany(40, '127.0.0.6');
  expect(later.length).toBe(40);
  expect(await ask(later[0]!, '/muster/health')).toBe('HTTP/1.1 200 OK');
  expect((await gone).map(({ closed }) => closed)).toEqual(new Array(8).fill(true));
  const left = () => [...first, ...second].filter((socket) => !socket.destroyed).length;
  await expect.poll(left).toBe(128 - 40 - 2);
  expect(await ask(known, '/muster/nodes', token)).toBe('HTTP/1.1 200 OK');
  const { status } = await callJson(service, agent, token, 'GET', '/muster/nodes');
  expect(status).toBe(200);
  agent.destroy();
});
