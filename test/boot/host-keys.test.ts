import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { writersOf } from '../harness/raw-sqlite.ts';
import { openRamdisk } from './ramdisk/in-ramdisk.ts';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const [n1, n2] = ['127.0.0.21', '127.0.0.22'];
const script = '/boot/52-54-00-00-00-01.ipxe';
const old = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEdrN6HDMiDqbRqJdT1yBGvcHyfl2G4sF6RJZn8o6rZn';

/** A public key as ssh-keygen writes it. */
function newKey(): string {
  const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const words = [Buffer.from('ssh-ed25519'), Buffer.from(x!, 'base64url')];
  const blob = Buffer.concat(words.flatMap((word) => [Buffer.from([0, 0, 0, word.length]), word]));
  return `ssh-ed25519 ${blob.toString('base64')}`;
}

describe('the SSH host key of a node', () => {
  let lab: BootLab;
  beforeAll(async () => {
    lab = await startBootLab();
    const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
    await lab.server.ok('PUT', '/nodes', {
      n1: { ...attributes, mac: '52:54:00:00:00:01', ip: n1 },
      n2: { ...attributes, mac: '52:54:00:00:00:02', ip: n2 },
    });
    await definePacked(lab, 'deb', { root: Buffer.from('r'), kernel: Buffer.from('k'), initrd: Buffer.from('i') });
  });
  afterAll(() => lab.stop());
  beforeEach(async () => {
    await lab.server.ok('PUT', '/tables/sshhostkey/rows/node=n1', { hostkey: old });
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
  });

  const known = async (): Promise<string> =>
    (await lab.server.ok('GET', '/tables/sshhostkey/rows/node=n1')).sshhostkey[0].hostkey;
  const reportPath = async (): Promise<string> =>
    /muster\.report=http:\/\/[^/]+(\S+)/.exec((await lab.from(n1, script)).text)![1]!;
  const send = async (path: string, body: string, from = n1): Promise<number> =>
    (await lab.from(from, path, { method: 'POST', body })).status;

  it('is the one that it tells when it is up, and the journal has that', async () => {
    const path = await reportPath();
    // The node's requests come from its address.
    const door = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        void lab
          .from(n1, request.url!, { method: request.method!, body })
          .then((reply) => response.writeHead(reply.status).end(reply.body));
      });
    });
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void door.close());
    const { top, put } = openRamdisk();
    const key = newKey();
    put({
      'run/muster/report': `http://127.0.0.1:${(door.address() as AddressInfo).port}${path}\n`,
      'run/muster/busybox': '->/bin/busybox',
      'etc/ssh/ssh_host_ed25519_key.pub': `${key} root@n1\n`,
      'etc/ssh/ssh_host_dsa_key.pub': 'ssh-dss AAAAB3NzaC1kc3MAAAAA root@n1\n',
    });
    await promisify(execFile)('chroot', [top, '/bin/sh', '/etc/first-boot', '/run/muster'], {
      env: { PATH: '/bin:/usr/sbin' },
    });
    expect(await known()).toBe(key);
    expect((await lab.server.ok('GET', '/nodes/n1/boot')).n1.step).toBe('booted');
    const writers = writersOf(join(lab.server.data, 'muster.sqlite'), 'sshhostkey', 'n1');
    expect(writers.at(-1)).toEqual({ user: 'muster', client: 'local', command: 'boot-report' });
    // Its boot has ended.
    expect(await send(path, `hostkey ${newKey()}`)).toBe(403);
    expect(await known()).toBe(key);
  });

  it('is not what others say, and not what is no key', async () => {
    const path = await reportPath();
    expect(await send(path, `hostkey ${newKey()}`, n2)).toBe(403);
    expect(await send(`${path.slice(0, -3)}AAA`, `hostkey ${newKey()}`)).toBe(403);
    for (const text of ['', 'ssh-ed25519', `ssh-rsa ${newKey().split(' ')[1]}`, `${newKey()} more`, 'ssh-ed25519 ***'])
      expect(await send(path, `hostkey ${text}`)).toBe(204);
    expect(await known()).toBe(old);
  });

  it('is told once a boot: the same again changes nothing, others are refused and logged', async () => {
    const path = await reportPath();
    const [key, other] = [newKey(), newKey()];
    const revision = async (): Promise<unknown> => (await lab.server.ok('GET', '/changes?limit=1'))[0];
    expect(await send(path, `hostkey ${key}`)).toBe(204);
    const before = await revision();
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, i) => send(path, `hostkey ${i % 2 === 0 ? key : newKey()}`)),
    );
    expect(replies).toEqual(Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? 204 : 403)));
    expect(await send(path, `hostkey ${other}\nbooted`)).toBe(403);
    expect([await known(), await revision()]).toEqual([key, before]);
    await expect
      .poll(() => lab.server.output())
      .toMatch(/n1, from 127\.0\.0\.21, reports other SSH host keys than before/);
    // Another boot has others.
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
    expect(await send(await reportPath(), `hostkey ${other}`)).toBe(204);
    expect(await known()).toBe(other);
  });

  it('stays if the node still has it', async () => {
    expect(await send(await reportPath(), `hostkey ${newKey()}\nhostkey ${old}\nbooted`)).toBe(204);
    expect(await known()).toBe(old);
  });

  it('cannot be told by a node that boots from its disk', async () => {
    const path = await reportPath();
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'boot' });
    expect((await lab.from(n1, script)).text).not.toContain('muster.report');
    expect(await send(path, `hostkey ${newKey()}`)).toBe(403);
    expect(await known()).toBe(old);
  });
});
