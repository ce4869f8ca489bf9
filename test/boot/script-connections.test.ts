import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryDirectory } from '../harness/server.ts';
import { type BootLab, startBootLab } from './boot-client.ts';

const script = '/boot/52-54-00-00-00-01.ipxe';
let lab: BootLab;
/** A site's own directory with a loader that is larger than what a connection holds. */
let loaders: string;
beforeAll(async () => {
  loaders = temporaryDirectory();
  writeFileSync(join(loaders, 'grubx64.efi'), Buffer.alloc(8 << 20));
  lab = await startBootLab({ MUSTER_BOOT_DIRECTORY: loaders });
  await lab.server.ok('PUT', '/nodes/n1', { groups: 'all', netboot: 'xnba', mac: '52:54:00:00:00:01' });
});
afterAll(async () => {
  await lab.stop();
  rmSync(loaders, { recursive: true });
});

const get = (path: string, ...headers: string[]): string =>
  ['GET ' + path + ' HTTP/1.1', 'Host: x', ...headers, '', ''].join('\r\n');

async function open(): Promise<{ socket: Socket; heard(): string }> {
  const socket = connect({ port: lab.port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await once(socket, 'connect');
  return { socket, heard: () => text };
}

/** The first lines of replies that came. */
const replies = (text: string): (string | undefined)[] =>
  [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, code]) => code);

it('a connection is closed when it was asked to be, with the whole script before', async () => {
  const { socket, heard } = await open();
  socket.write(get(script, 'Connection: close'));
  await once(socket, 'end');
  const [head = '', body = ''] = heard().split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(Number(/Content-Length: (\d+)/.exec(head)?.[1])).toBe(body.length);
  expect(body).toMatch(/^#!ipxe\n/);
  socket.destroy();
});

it('scripts and other files follow each other on one connection, in pieces and all at once', async () => {
  const { socket, heard } = await open();
  const answered = (count: number) => expect.poll(() => replies(heard()).length).toBe(count);
  socket.write(get(script));
  await answered(1);
  socket.write(get(script, 'Connection: keep-alive'));
  await answered(2);
  socket.write(get(script) + get('/boot/nosuch') + get(script));
  await answered(5);
  const text = get(script);
  for (const piece of [text.slice(0, 9), text.slice(9, 40), text.slice(40)]) socket.write(piece);
  await answered(6);
  socket.write(get('/boot/nosuch', 'Connection: close'));
  await once(socket, 'end');
  expect(replies(heard())).toEqual(['200', '200', '200', '404', '200', '200', '404']);
  socket.destroy();
});

const request = (minor: number, ...headers: string[]): string =>
  [`GET ${script} HTTP/1.${minor}`, ...headers, '', ''].join('\r\n');

it.each([
  ['as iPXE asks', request(1, 'Connection: keep-alive', 'User-Agent: iPXE/1.0.0+', 'Host: 10.0.0.1'), true],
  ['as GRUB asks', request(1, 'Host: 10.0.0.1', 'User-Agent: GRUB 2.06'), true],
  ['as busybox asks', request(1, 'Host: 10.0.0.1:8080', 'User-Agent: Wget', 'Connection: close'), false],
  ['by HTTP/1.0', request(0), false],
])('a script fetched %s arrives, and the connection stays as the loader wants it', async (_name, text, keep) => {
  const { socket, heard } = await open();
  const ended = once(socket, 'end');
  socket.write(text);
  await expect.poll(() => replies(heard())).toEqual(['200']);
  if (keep) socket.end(request(1, 'Host: x'));
  await ended;
  expect(replies(heard())).toEqual(keep ? ['200', '200'] : ['200']);
});

const host = 'Host: x';
it.each([
  ['a query', '200', get(`${script}?a`)],
  ['HEAD', '200', get(script).replace('GET', 'HEAD')],
  ['a range, which scripts do not have', '200', request(1, host, 'Range: bytes=0-1')],
  ['a body', '200', `${request(1, host, 'Content-Length: 4')}body`],
  ['a body in chunks', '200', `${request(1, host, 'Transfer-Encoding: chunked')}0\r\n\r\n`],
  ['an upgrade to another protocol', '200', request(1, host, 'Connection: upgrade', 'Upgrade: h2c')],
  ['an encoded path', '200', get('/boot/%352-54-00-00-00-01.ipxe')],
  ['a path that goes up', '404', get('/boot/../boot/52-54-00-00-00-01.ipxe')],
  ['a header line that goes on', '400', request(1, host, ' y')],
  ['a bare line feed', '400', request(1, 'Host: x\nRange: bytes=0-1')],
  ['a blank before the colon', '400', request(1, 'Host : x')],
  ['headers that are too long', '431', request(1, host, `User-Agent: ${'x'.repeat(9_000)}`)],
])('a request with %s is answered with %s', async (_name, status, text) => {
  const { socket, heard } = await open();
  socket.end(text);
  await once(socket, 'end');
  expect(replies(heard())).toEqual([status]);
});

it('a request with two Host headers, or none, is refused', async () => {
  for (const text of [
    get(script, 'Host: y', 'Connection: close'),
    `GET ${script} HTTP/1.1\r\nConnection: close\r\n\r\n`,
  ]) {
    const { socket, heard } = await open();
    socket.write(text);
    await once(socket, 'end');
    expect(replies(heard())).toEqual(['400']);
    socket.destroy();
  }
});

it('what is asked before there is an answer is answered in its turn', async () => {
  const { socket, heard } = await open();
  socket.setNoDelay(true);
  for (let index = 0; index < 20; index++) socket.write(get(script));
  await expect.poll(() => replies(heard())).toEqual(Array.from({ length: 20 }, () => '200'));
  socket.destroy();
});

it('who asks on without reading gets every answer once it reads', async () => {
  const count = 5_000;
  const { socket, heard } = await open();
  socket.pause();
  socket.write(get(script).repeat(count));
  // Others are served meanwhile.
  expect((await lab.from('127.0.0.1', script)).status).toBe(200);
  socket.resume();
  await expect.poll(() => replies(heard()).length, { timeout: 60_000 }).toBe(count);
  socket.destroy();
}, 60_000);

it('who asks for files ahead has one of them open', async () => {
  const file = '/grubx64.efi';
  const openFiles = () => readdirSync(`/proc/${lab.server.child.pid!}/fd`).length;
  expect((await lab.from('127.0.0.1', file)).status).toBe(200);
  const before = openFiles();
  const { socket } = await open();
  socket.pause();
  socket.write(get(file).repeat(3_000));
  await expect.poll(() => socket.bytesWritten).toBeGreaterThan(0);
  for (let i = 0; i < 10; i++) expect((await lab.from('127.0.0.1', script)).status).toBe(200);
  expect(openFiles() - before).toBeLessThan(20);
  socket.destroy();
});

it('who says no more after the question still hears the answer', async () => {
  const { socket, heard } = await open();
  socket.end(get(script));
  await once(socket, 'end');
  expect(replies(heard())).toEqual(['200']);
  const stranger = await open();
  stranger.socket.end(get('/boot/nosuch.ipxe'));
  await once(stranger.socket, 'end');
  expect(stranger.heard()).toMatch(/^HTTP\/1\.1 404 .*\r\n\r\nThere is nothing at this path\.\n$/s);
});

it('what is no HTTP is refused, and muster can be stopped while somebody is connected', async () => {
  const { socket, heard } = await open();
  socket.write('HELO\r\n\r\n');
  await expect.poll(() => replies(heard())).toEqual(['400']);
  socket.destroy();
  const idle = await open();
  const kept = await open();
  kept.socket.write(get(script));
  await expect.poll(() => replies(kept.heard())).toEqual(['200']);
  for (const each of [idle, kept]) each.socket.on('error', () => undefined);
  const ends = [idle, kept].map(({ socket: each }) => once(each, 'close'));
  for (const each of [idle, kept]) each.socket.on('end', () => each.socket.end());
  await lab.server.stop();
  await Promise.all(ends);
});
