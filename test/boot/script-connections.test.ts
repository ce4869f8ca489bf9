import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';

const script = '/boot/52-54-00-00-00-01.ipxe';
let lab: BootLab;
beforeAll(async () => {
  lab = await startBootLab();
  await lab.server.ok('PUT', '/nodes/n1', { groups: 'all', netboot: 'xnba', mac: '52:54:00:00:00:01' });
});
afterAll(() => lab.stop());

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
  // All at once goes to the HTTP server, and whatever comes after it.
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

it('a request with two Host headers, or none, is refused', async () => {
  for (const request of [
    get(script, 'Host: y', 'Connection: close'),
    `GET ${script} HTTP/1.1\r\nConnection: close\r\n\r\n`,
  ]) {
    const { socket, heard } = await open();
    socket.write(request);
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
