import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openRamdisk } from './ramdisk/in-ramdisk.ts';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const [n1, n2] = ['127.0.0.21', '127.0.0.22'];
let lab: BootLab;
/** Where the node's own requests go, without a name at the end. */
let scripts: string;
beforeAll(async () => {
  lab = await startBootLab();
  const { server } = lab;
  const directory = join(server.data, 'postscripts');
  mkdirSync(join(directory, 'lib'), { recursive: true });
  writeFileSync(join(directory, 'first'), '#!/bin/sh\n. ./lib/common\necho "$NODE $1" > "$HOME/done"\n');
  writeFileSync(join(directory, 'lib/common'), 'HOME=/root\n');
  writeFileSync(join(directory, 'bad'), '#!/bin/sh\nexit 3\n');
  symlinkSync(join(server.data, 'secret.key'), join(directory, 'stolen'));
  for (const name of ['first', 'bad']) chmodSync(join(directory, name), 0o644);
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await server.ok('PUT', '/nodes', {
    n1: { ...attributes, mac: '52:54:00:00:00:01', ip: n1, postscripts: "first 'a b'", postbootscripts: 'bad,nosuch' },
    n2: { ...attributes, mac: '52:54:00:00:00:02', ip: n2 },
  });
  await definePacked(lab, 'deb', { root: Buffer.from('r'), kernel: Buffer.from('k'), initrd: Buffer.from('i') });
  await server.ok('PUT', '/nodes/all/bootstate', { osimage: 'deb' });
  scripts = (await reportOf(n1, '01')).replace('/report/', '/postscripts/');
});
afterAll(() => lab.stop());

const reportOf = async (address: string, number: string): Promise<string> => {
  const { text } = await lab.from(address, `/boot/52-54-00-00-00-${number}.ipxe`);
  return /muster\.report=http:\/\/[^/]+(\/boot\/report\/\S+)/.exec(text)![1]!;
};

describe('the scripts of a first boot', () => {
  it('are for the node alone, and there are none where it has none', async () => {
    expect((await lab.from(n1, `${scripts}/first-boot.sh`)).status).toBe(200);
    expect((await lab.from(n2, `${scripts}/first-boot.sh`)).status).toBe(403);
    expect((await lab.from(n1, `${scripts.slice(0, -3)}AAA/first-boot.sh`)).status).toBe(403);
    const others = (await reportOf(n2, '02')).replace('/report/', '/postscripts/');
    expect((await lab.from(n2, `${others}/first-boot.sh`)).status).toBe(404);
  });

  it('come with the directory they lie in, and nothing that is elsewhere', async () => {
    expect((await lab.from(n1, `${scripts}/files/lib/common`)).text).toBe('HOME=/root\n');
    for (const path of ['stolen', '..%2fsecret.key', 'lib', ''])
      expect((await lab.from(n1, `${scripts}/files/${path}`)).status).toBe(404);
  });

  it('run as POST postscript runs them, and what failed is told in the last line', async () => {
    const { text } = await lab.from(n1, `${scripts}/first-boot.sh`);
    expect(text).not.toContain('UPDATENODE');
    // A node whose requests come from its address.
    const door = createServer((request, response) => {
      void lab.from(n1, request.url!).then(({ status, body }) => response.writeHead(status).end(body));
    });
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void door.close());
    const { port } = door.address() as AddressInfo;
    const { top, put } = openRamdisk();
    put({ 'first-boot.sh': text, 'root/.keep': '', 'dev/null': '' });
    for (const name of ['dirname', 'env']) put({ [`bin/${name}`]: '->busybox' });
    const words = ['MUSTER_BUSYBOX=/bin/busybox', `MUSTER_FILES=http://127.0.0.1:${port}${scripts}/files`];
    const ended = await promisify(execFile)('chroot', [
      top,
      '/bin/env',
      ...words,
      'PATH=/bin',
      '/bin/sh',
      '/first-boot.sh',
    ]).catch((error: { code: number; stdout: string }) => error);
    expect(ended.stdout.trimEnd().split('\n')).toEqual([
      "postscript start..: first 'a b'",
      "postscript end....: first 'a b' exited with code 0",
      'postbootscript start..: bad',
      'postbootscript end....: bad exited with code 3',
      'The postscript nosuch does not exist.',
      '2 scripts failed: bad, The postscript nosuch does not exist.',
    ]);
    expect(ended).toHaveProperty('code', 2);
    expect(readFileSync(join(top, 'root/done'), 'utf8')).toBe('n1 a b\n');
  });
});
