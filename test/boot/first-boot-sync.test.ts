import { execFile } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';
import { openRamdisk } from './ramdisk/in-ramdisk.ts';

const [n1, n2] = ['127.0.0.61', '127.0.0.62'];
let lab: BootLab;
let scripts: string;
const source = (name: string, content: string): string => {
  const path = join(lab.server.data, 'files', name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
};

beforeAll(async () => {
  lab = await startBootLab();
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64', postscripts: 'syncfiles' };
  await lab.server.ok('PUT', '/nodes', {
    n1: { ...attributes, mac: '52:54:00:00:00:61', ip: n1 },
    n2: { ...attributes, mac: '52:54:00:00:00:62', ip: n2 },
  });
  await definePacked(lab, 'deb', { root: Buffer.from('r'), kernel: Buffer.from('k'), initrd: Buffer.from('i') });
  const [motd, conf] = [source('motd', 'welcome\n'), source('app/a.conf', 'a\n')];
  chmodSync(motd, 0o644);
  chownSync(motd, 12, 34);
  source('other', 'for n2 alone\n');
  const script = (name: string): string => {
    const path = source(name, `#!/bin/sh\necho ${name} >> /ran\n`);
    chmodSync(path, 0o755);
    return path;
  };
  source('users', 'anna:x:7:7::/home/anna:/bin/sh\n');
  const lines = [
    `${motd} -> /etc/motd`,
    `${join(conf, '..')}/* -> /opt/app/`,
    `${join(lab.server.data, 'files/other')} -> (n2) /etc/other`,
    `${script('motd.post')} -> /opt/scripts/`,
    'APPEND:',
    `${source('more', 'appended')} -> /etc/issue`,
    'MERGE:',
    `${join(lab.server.data, 'files/users')} -> /etc/passwd`,
    'EXECUTE:',
    join(lab.server.data, 'files/motd.post'),
    script('more.post'),
    'EXECUTEALWAYS:',
    script('always'),
  ];
  await lab.server.ok('PUT', '/osimages/deb', { synclists: source('deb.synclist', `${lines.join('\n')}\n`) });
  await lab.server.ok('PUT', '/nodes/all/bootstate', { osimage: 'deb' });
  const { text } = await lab.from(n1, '/boot/52-54-00-00-00-61.ipxe');
  scripts = /muster\.report=http:\/\/[^/]+(\/boot\/report\/\S+)/.exec(text)![1]!.replace('/report/', '/postscripts/');
});
afterAll(() => lab?.stop());

it('a node fetches the files of its synclists itself when it is up for the first time', async () => {
  const { text } = await lab.from(n1, `${scripts}/first-boot.sh`);
  expect(text).not.toContain('/etc/other');
  const asked: string[] = [];
  const door = createServer((request, response) => {
    asked.push(request.url!);
    void lab.from(n1, request.url!).then(({ status, body }) => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void door.close());
  const { port } = door.address() as AddressInfo;
  const { top, put } = openRamdisk();
  put({ 'first-boot.sh': text, 'root/.keep': '', 'dev/null': '' });
  put({ 'etc/issue': 'issue', 'etc/passwd': 'root:x:0:0::/root:/bin/sh\nanna:x:5:5::/:/bin/false\n' });
  for (const name of ['dirname', 'env', 'cmp', 'awk', 'wc']) put({ [`bin/${name}`]: '->busybox' });
  const words = ['MUSTER_BUSYBOX=/bin/busybox', `MUSTER_FILES=http://127.0.0.1:${port}${scripts}/files`, 'PATH=/bin'];
  const run = () => promisify(execFile)('chroot', [top, '/bin/env', ...words, '/bin/sh', '/first-boot.sh']);
  const { stdout } = await run();
  expect(stdout).toContain('postscript end....: syncfiles exited with code 0');
  expect(readFileSync(join(top, 'etc/motd'), 'utf8')).toBe('welcome\n');
  expect(lstatSync(join(top, 'etc/motd'))).toMatchObject({ uid: 12, gid: 34, mode: 0o100644 });
  expect(readFileSync(join(top, 'opt/app/a.conf'), 'utf8')).toBe('a\n');
  const joined = () => ['etc/issue', 'etc/passwd', 'ran'].map((name) => readFileSync(join(top, name), 'utf8'));
  const users = 'root:x:0:0::/root:/bin/sh\nanna:x:7:7::/home/anna:/bin/sh\n';
  expect(joined()).toEqual(['issue\nappended', users, 'motd.post\nmore.post\nalways\n']);
  const files = asked.filter((url) => url.includes('/sync/'));
  expect(files).toHaveLength(7);
  // What is the same is neither fetched nor joined again.
  await run();
  expect(asked.filter((url) => url.includes('/sync/'))).toHaveLength(7);
  expect(joined()).toEqual(['issue\nappended', users, 'motd.post\nmore.post\nalways\nalways\n']);
  expect((await lab.from(n2, files[0]!)).status).toBe(403);
  expect((await lab.from(n1, `${scripts}/sync/nosuch`)).status).toBe(404);
});

it('a file that only its owner may read is not offered: users of the node can read its token by now', async () => {
  const key = source('key', 'secret');
  chmodSync(key, 0o400);
  await lab.server.ok('PUT', '/osimages/deb', { synclists: source('key.synclist', `${key} -> /etc/key\n`) });
  const { text } = await lab.from(n1, `${scripts}/first-boot.sh`);
  expect(text).toMatch(/^ {2}'sync_private' [0-9a-f]{64} \/etc\/key key \|\| code=1$/m);
  expect(text).not.toContain("'sync_file' 400");
  // Nor is one in a directory that they could not enter.
  chmodSync(source('closed/file', 'secret'), 0o644);
  chmodSync(join(lab.server.data, 'files/closed'), 0o700);
  const list = source('closed.synclist', `${join(lab.server.data, 'files/closed')} -> /etc/closed\n`);
  await lab.server.ok('PUT', '/osimages/deb', { synclists: list });
  expect((await lab.from(n1, `${scripts}/first-boot.sh`)).text).toMatch(/'sync_private' \S+ \/etc\/closed\/file/);
  // Nor below one that no list names.
  const below = source('closed/below/file', 'secret');
  await lab.server.ok('PUT', '/osimages/deb', { synclists: source('below.synclist', `${below} -> /etc/below\n`) });
  expect((await lab.from(n1, `${scripts}/first-boot.sh`)).text).toMatch(/'sync_private' \S+ \/etc\/below/);
});

it('a list that cannot be read is a failure that is named, and stops no other script', async () => {
  await lab.server.ok('PUT', '/osimages/deb', { synclists: join(lab.server.data, 'files/nosuch') });
  const { status, text } = await lab.from(n1, `${scripts}/first-boot.sh`);
  expect(status).toBe(200);
  expect(text).toMatch(/^lacks 'syncfiles: .*nosuch/m);
});
