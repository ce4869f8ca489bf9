import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const [n1, n2] = ['127.0.0.51', '127.0.0.52'];
const script = '/boot/52-54-00-00-00-51.ipxe';
let lab: BootLab;

const put = (path: string, content: string, mode = 0o644): string => {
  const place = join(lab.install, 'overlays', path);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, content);
  chmodSync(place, mode);
  return place;
};

/** As the initial RAM disk of a pack looks that can place overlays, and one that cannot. */
const initrd = (name: string): Buffer => gzipSync(Buffer.from(`070701${'x'.repeat(70_000)}${name}`));

beforeAll(async () => {
  lab = await startBootLab();
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await lab.server.ok('PUT', '/nodes', {
    n1: { ...attributes, mac: '52:54:00:00:00:51', ip: n1, rack: 'r1', mgt: 'ipmi', bmcpassword: 'opensesame' },
    n2: { ...attributes, mac: '52:54:00:00:00:52', ip: n2, rack: 'r2' },
  });
  const byte = Buffer.from('x');
  await definePacked(lab, 'old', { root: byte, kernel: byte, initrd: initrd('lib/muster/image') });
  await definePacked(lab, 'new', { root: byte, kernel: byte, initrd: initrd('lib/muster/overlay') });
  put('base/etc/motd.tmpl', 'This is #NODE# in #ATTRIBUTE:rack#.\n');
  put('base/etc/plain', 'base\n', 0o600);
  const plain = put('own/etc/plain', 'own\n');
  chownSync(plain, 12, 34);
  // To give it away takes these bits from it.
  chmodSync(plain, 0o4755);
  put('own/etc/key.tmpl', '#SECRET:ipmi:$NODE:password#\n', 0o400);
  symlinkSync('../usr/share/zoneinfo/UTC', join(lab.install, 'overlays/own/etc/localtime'));
  await lab.server.ok('PUT', '/nodes/n1', { overlay: 'own' });
  await lab.server.ok('PUT', '/osimages/new', { overlay: 'base' });
  await lab.server.ok('PUT', '/osimages/old', { overlay: 'base' });
  await lab.server.ok('PUT', '/nodes/all/bootstate', { osimage: 'new' });
});
afterAll(() => lab?.stop());

const overlayPath = async (): Promise<string> => {
  const { text } = await lab.from(n1, script);
  expect(text).toContain(' muster.overlay ');
  return /muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!.replace('/report/', '/overlay/');
};

describe('the overlays of a node that boots', () => {
  it('are fetched by the node alone, with its secrets', async () => {
    const path = await overlayPath();
    const { status, body } = await lab.from(n1, path);
    expect(status).toBe(200);
    const unpacked = mkdtempSync(join(tmpdir(), 'muster-overlay-'));
    onTestFinished(() => rmSync(unpacked, { recursive: true }));
    execFileSync('tar', ['-xf', '-', '-C', unpacked], { input: body });
    const plan = readFileSync(join(unpacked, 'plan'), 'utf8').trimEnd().split('\n');
    const owner = `${process.getuid!()}:${process.getgid!()}`;
    const contents = plan.map((line) => {
      const [kind, number, mode, by, seen, place] = line.split(' ');
      const content = kind === 'directory' ? '' : readFileSync(join(unpacked, number!), 'utf8');
      return [kind, mode, by, seen, place, content].join(' ');
    });
    expect(contents).toEqual([
      `directory 755 ${owner} open /etc `,
      `file 400 ${owner} closed /etc/key opensesame\n`,
      `link 777 ${owner} open /etc/localtime ../usr/share/zoneinfo/UTC`,
      `file 644 ${owner} open /etc/motd This is n1 in r1.\n`,
      'file 4755 12:34 open /etc/plain own\n',
    ]);
    expect((await lab.from(n2, path)).status).toBe(403);
    expect((await lab.from(n1, path.replace(/[^/]+$/, 'wrong'))).status).toBe(403);
  });

  it('stop the boot with a reason on the screen where they cannot be made', async () => {
    const wrong = put('base/etc/wrong.tmpl', '#ATTRIBUTE:room#\n');
    onTestFinished(() => rmSync(wrong));
    expect((await lab.from(n1, script)).text).toMatch(/echo muster: n1: .*wrong\.tmpl, line 1: .* has no value/);
  });

  it('stop the boot of an image whose initial RAM disk would leave them out', async () => {
    await lab.server.ok('PUT', '/nodes/n2/bootstate', { osimage: 'old' });
    const { text } = await lab.from(n2, '/boot/52-54-00-00-00-52.ipxe');
    expect(text).toMatch(/the initial RAM disk of its image old cannot place them/);
  });

  it.each([
    ['/etc', 'outside the directories for images'],
    ['../data', 'is neither the name of a directory'],
    ['nosuch', 'does not exist'],
  ])('lie where images may lie: %s is refused', async (overlay, reason) => {
    await lab.server.ok('PUT', '/nodes/n1', { overlay });
    onTestFinished(() => lab.server.ok('PUT', '/nodes/n1', { overlay: 'own' }));
    expect((await lab.from(n1, script)).text).toContain(reason);
  });
});

describe('who looks at the overlays of a node', () => {
  it('sees each file with its mode, owner and origin', async () => {
    const { n1: files } = await lab.server.ok('GET', '/nodes/n1/overlay');
    expect(files['/etc/plain']).toBe('file 4755 12:34 4 bytes, from own');
    expect(files['/etc/motd']).toMatch(/^file 0644 \d+:\d+ 18 bytes, from a template in base$/);
    expect(files['/etc/localtime']).toMatch(/^link 0777 \d+:\d+ to \.\.\/usr\/share\/zoneinfo\/UTC, from own$/);
  });

  it('sees what is in one, without secrets', async () => {
    expect(await lab.server.ok('GET', '/nodes/n1,n2/overlay/etc%2Fmotd')).toEqual({
      n1: { '/etc/motd': 'This is n1 in r1.\n' },
      n2: { '/etc/motd': 'This is n2 in r2.\n' },
    });
    const { n1: key } = await lab.server.ok('GET', '/nodes/n1/overlay/etc%2Fkey');
    expect(key['/etc/key']).not.toContain('opensesame');
  });
});

it('when the system of the node runs, its users get nothing by the token of its boot', async () => {
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'new' });
  const path = await overlayPath();
  expect((await lab.from(n1, path)).status).toBe(200);
  await lab.from(n1, path.replace('/overlay/', '/report/'), { method: 'POST', body: 'booting\n' });
  const { status, text } = await lab.from(n1, path);
  expect([status, text]).toEqual([403, expect.stringContaining('runs already')]);
});
