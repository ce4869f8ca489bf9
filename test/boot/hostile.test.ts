import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { written } from '../harness/output.ts';
import { type BootLab, startBootLab, tftpPortOf } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const address = '127.0.0.51';
const secret = Buffer.from('the root of an image, which is for nodes');
let lab: BootLab;
let tftpPort: number;
beforeAll(async () => {
  lab = await startBootLab({ MUSTER_BOOT_TFTP_LISTEN: '127.0.0.1:0' });
  tftpPort = await tftpPortOf(lab.server);
  await lab.server.ok('PUT', '/nodes/n1', { groups: 'all', ip: address, mac: '52:54:00:00:00:51', netboot: 'xnba' });
  await definePacked(lab, 'deb', { root: secret, kernel: Buffer.alloc(10), initrd: Buffer.alloc(10) });
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
});
afterAll(() => lab.stop());

/** Sends bytes and returns what comes back until the other side closes. */
function raw(bytes: Buffer | string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ port: lab.port, host: '127.0.0.1', localAddress: '127.0.0.98' }, () => {
      socket.write(bytes);
      socket.end();
    });
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}

/** It is still there, and has logged no error. */
async function isWell(): Promise<void> {
  expect((await lab.from(address, '/boot/52-54-00-00-00-51.ipxe')).status).toBe(200);
  expect(await written(lab.server)).not.toMatch(/"level":"(error|fatal)"/);
}

const pieces = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '%2e%2e',
    '%2f',
    '%5c',
    '%00',
    '\\',
    '',
    'boot',
    'images',
    'deb',
    'root',
    'install',
    'etc',
    'passwd',
    'tftpboot',
    'xcat',
    'osimage',
    'report',
    'n1',
    'pxelinux.cfg',
    'grub.cfg',
    '7F000033',
    '%',
    '%zz',
    '%c0%ae',
  ),
  fc.string({ maxLength: 20 }),
);

it('paths of any kind lead to no file of this machine, and to no image for a stranger', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 8 }), async (path) => {
      const target = `/${path.join('/')}`.replaceAll(/[^!-~]/g, '_');
      const reply = await raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(reply).not.toContain('root:x:0:0');
      expect(reply).not.toContain(secret.toString());
      expect(reply).toMatch(/^HTTP\/1\.1 (200|400|403|404) /);
    }),
    { numRuns: 300 },
  );
  await isWell();
});

it('what is no HTTP is answered by nothing worse than 4xx', async () => {
  const line = fc.oneof(
    fc.constantFrom(
      'GET / HTTP/1.1',
      'POST /boot/report/n1/x HTTP/1.1',
      'Content-Length: 99999999999',
      'Content-Length: -1',
      'Transfer-Encoding: chunked',
      'Range: bytes=0-',
      'Host: x',
      'Expect: 100-continue',
      '',
      'zz',
      'ffffffff',
    ),
    fc.string({ maxLength: 40 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), async (lines) => {
      const reply = await raw(`${lines.join('\r\n')}\r\n\r\n`);
      expect(reply).toMatch(/^$|^HTTP\/1\.1 (100|200|400|403|404|405|408|413|417|431) /);
    }),
    { numRuns: 200 },
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      expect(await raw(Buffer.from(bytes))).toMatch(/^$|^HTTP\/1\.1 4/);
    }),
    { numRuns: 100 },
  );
  await isWell();
});

it('one address cannot take all connections', async () => {
  const open = Array.from({ length: 40 }, () =>
    connect({ port: lab.port, host: '127.0.0.1', localAddress: '127.0.0.97' }),
  );
  for (const socket of open) socket.on('error', () => undefined);
  await Promise.all(open.map((socket) => once(socket, 'connect')));
  await expect.poll(() => open.filter(({ closed }) => closed).length).toBe(8);
  await isWell();
  for (const socket of open) socket.destroy();
});

it('a report that is too large is refused', async () => {
  const body = 'x'.repeat(70_000);
  expect((await lab.from(address, '/boot/report/n1/x', { method: 'POST', body })).status).toBe(400);
});

it('packets of any kind leave TFTP as it was', async () => {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.96');
  await once(socket, 'listening');
  const replies: Buffer[] = [];
  socket.on('message', (packet) => replies.push(packet));
  const send = (packet: Uint8Array) =>
    new Promise<void>((resolve) => socket.send(packet, tftpPort, '127.0.0.1', () => resolve()));
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), send), { numRuns: 200 });
  const name = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((path) => path.join('/'));
  const read = (file: string): Buffer => Buffer.concat([Buffer.from([0, 1]), Buffer.from(`${file}\0octet\0`)]);
  await fc.assert(
    fc.asyncProperty(name, (file) => send(read(file))),
    { numRuns: 200 },
  );
  await isWell();
  // Scripts are for all; nothing else is sent to a stranger.
  const sent = replies.map((packet) => packet.toString('latin1'));
  expect(sent.filter((text) => text.includes('root:x:0:0') || text.includes(secret.toString()))).toEqual([]);
  socket.close();
});
