import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BootLab, behindNginx, startBootLab } from './boot-client.ts';
import { definePacked, type Parts } from './packed-image.ts';

const parts: Parts = { root: randomBytes(100_000), kernel: randomBytes(5_000), initrd: randomBytes(6_000) };
const [n1, n2, stranger] = ['127.0.0.11', '127.0.0.12', '127.0.0.99'];
const script = '/boot/52-54-00-00-00-01.ipxe';

/** Both answer alike, but for what a client may leave to the server. */
describe.each([
  ['muster', async () => ({})],
  ['nginx', behindNginx],
] as const)('files are sent by %s:', (sender, environment) => {
  let lab: BootLab;
  let pack: string;
  beforeAll(async () => {
    lab = await startBootLab(await environment());
    const { server } = lab;
    const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
    await server.ok('PUT', '/nodes', {
      n1: { ...attributes, mac: '52:54:00:00:00:01', ip: n1 },
      n2: {
        ...attributes,
        mac: '52:54:00:00:00:02',
        ip: n2,
        addkcmdline: 'debug R::keep',
        serialport: '0',
        serialspeed: '115200',
      },
    });
    pack = await definePacked(lab, 'deb', parts);
  });
  afterAll(() => lab.stop());

  const reportPath = (text: string): string =>
    /muster\.report=http:\/\/[^/]+(\/boot\/report\/\S+)/.exec(text)?.[1] ?? 'none';

  const status = async (node: string): Promise<string> => {
    const { [node]: attributes } = await lab.server.ok('GET', `/nodes/${node}/attrs/status`);
    return attributes.status;
  };

  it('a node that is told nothing boots from its disk, with the status that makes UEFI go on', async () => {
    const { status: code, text } = await lab.from(n1, script);
    expect(code).toBe(200);
    const [grubx64, grubaa64] = ['x64', 'aa64'].map(
      (arch) => `chain --autofree tftp://\${next-server}/grub${arch}.efi`,
    );
    expect(text).toBe(
      `#!ipxe\n#offline\niseq \${platform} efi && goto uefi ||\nexit 0\n:uefi\n${grubx64} || ${grubaa64} || exit 1\n`,
    );
  });

  it('a node that boots an image is told where its files are, and reports by its token', async () => {
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
    const { text } = await lab.from(n1, script);
    const url = `http://127.0.0.1:${lab.port}/boot/images/deb/${pack}`;
    expect(text).toContain(`kernel --name kernel ${url}/kernel initrd=initrd imgurl=${url}/root imgsum=sha256:`);
    expect(text).toContain(`initrd --name initrd ${url}/initrd `);
    await expect.poll(() => status('n1')).toBe('netbooting');
    for (const kind of ['kernel', 'initrd', 'root'] as const)
      expect((await lab.from(n1, `/boot/images/deb/${pack}/${kind}`)).body.equals(parts[kind])).toBe(true);
    const path = reportPath(text);
    const report = (body: string) => lab.from(n1, path, { method: 'POST', body });
    expect((await report('fetching\nfetched 100000 bytes\n')).status).toBe(204);
    expect((await report('booted\n')).status).toBe(204);
    await expect.poll(() => status('n1')).toBe('booted');
    // A boot has ended, so its token is worth nothing any more.
    expect((await report('booted\n')).status).toBe(403);
  });

  describe('who may have what', () => {
    it('another machine gets the script of a node without its token', async () => {
      await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
      expect(reportPath((await lab.from(n1, script)).text)).toMatch(/^\/boot\/report\/n1\//);
      for (const address of [n2, stranger]) expect((await lab.from(address, script)).text).not.toContain('report');
    });

    it('a loader that asks again at once gets the same token', async () => {
      const path = reportPath((await lab.from(n1, script)).text);
      expect(path).not.toBe('none');
      expect(reportPath((await lab.from(n1, script)).text)).toBe(path);
    });

    it('the token of a node is worth nothing elsewhere, for another node, and after its state is set again', async () => {
      const path = reportPath((await lab.from(n1, script)).text);
      const report = async (address: string, where: string) =>
        (await lab.from(address, where, { method: 'POST', body: 'booting' })).status;
      expect(await report(n2, path)).toBe(403);
      expect(await report(n2, path.replace('/n1/', '/n2/'))).toBe(403);
      expect(await report(n1, `${path}x`)).toBe(403);
      expect(await report(n1, path)).toBe(204);
      await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
      expect(await report(n1, path)).toBe(403);
    });

    it('images are for nodes', async () => {
      const reply = await lab.from(stranger, `/boot/images/deb/${pack}/root`);
      expect([reply.status, reply.text]).toEqual([403, expect.stringMatching(/127\.0\.0\.99 is that of no node/)]);
    });
  });

  it('kernel arguments are those of the definition, without what is for the installed system', async () => {
    await lab.server.ok('PUT', '/nodes/n2/bootstate', { osimage: 'deb' });
    await lab.server.ok('PUT', '/osimages/deb', { addkcmdline: 'of-image' });
    const { text } = await lab.from(n2, '/boot/52:54:00:00:00:02.ipxe');
    expect(text).toMatch(/ console=tty0 console=ttyS0,115200 debug of-image BOOTIF=01-\$\{netX\/mac:hexhyp\} /);
  });

  it('why a node cannot boot is told on its screen', async () => {
    await lab.server.ok('PUT', '/nodes/n2', { serialspeed: '' });
    const { text } = await lab.from(n2, '/boot/52-54-00-00-00-02.ipxe');
    expect(text).toMatch(
      /^#!ipxe\n#refused\necho muster: n2: The attribute serialport is set, but not serialspeed\.\n/,
    );
    await expect.poll(() => status('n2')).toBe('failed');
  });

  it('why a node cannot boot is not told to others, who could learn of files of this machine', async () => {
    await lab.server.ok('PUT', '/nodes/n2', { serialport: '', serialspeed: '' });
    await lab.server.ok('PUT', '/nodes/n2/bootstate', { state: 'runcmd=true' });
    const asked = async (address: string) => (await lab.from(address, '/boot/52-54-00-00-00-02.ipxe')).text;
    expect(await asked(n2)).toMatch(/There is no ramdisk for x86_64: .*\/ramdisk\/x86_64/);
    for (const address of [n1, stranger])
      expect(await asked(address)).toMatch(/echo muster: n2: It cannot boot now. GET \/nodes\/n2\/boot says why\.\n/);
    expect((await lab.server.ok('GET', '/nodes/n2/boot')).n2.why).toMatch(
      /There is no ramdisk for x86_64: .*\/ramdisk\/x86_64/,
    );
  });

  it.each([
    ['bytes=0-9', 206, 'bytes 0-9/5000', 0, 10],
    ['bytes=4990-', 206, 'bytes 4990-4999/5000', 4990, 5000],
    ['bytes=-7', 206, 'bytes 4993-4999/5000', 4993, 5000],
    ['bytes=4999-99999', 206, 'bytes 4999-4999/5000', 4999, 5000],
    ['bytes=5000-', 416, 'bytes */5000', undefined, undefined],
    ['bytes=-0', 416, 'bytes */5000', undefined, undefined],
    ['bytes=0-1,4-5', sender === 'nginx' ? 206 : 200, undefined, undefined, undefined],
    ['lines=0-1', 200, undefined, 0, 5000],
  ])('Range: %s is answered with %i', async (range, code, content, first, end) => {
    const reply = await lab.from(n1, `/boot/images/deb/${pack}/kernel`, { headers: { range } });
    expect([reply.status, reply.headers['content-range']]).toEqual([code, content]);
    if (first !== undefined) expect(reply.body.equals(parts.kernel.subarray(first, end))).toBe(true);
  });

  it('a file is known by its tag, and HEAD tells its size', async () => {
    const path = `/boot/images/deb/${pack}/kernel`;
    const head = await lab.from(n1, path, { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '5000', 0]);
    const etag = head.headers['etag'] as string;
    expect((await lab.from(n1, path, { headers: { 'if-none-match': `"x", ${etag}` } })).status).toBe(304);
    const range = 'bytes=0-1';
    expect((await lab.from(n1, path, { headers: { range, 'if-range': etag } })).status).toBe(206);
    expect((await lab.from(n1, path, { headers: { range, 'if-range': '"x"' } })).status).toBe(200);
  });

  it.each([
    '/',
    '/boot',
    '/boot/',
    '/boot/images/deb',
    '/boot/images/deb/PACK/',
    '/boot/images/deb/PACK/../PACK/root',
    '/boot/images/deb/PACK/%2e%2e/PACK/root',
    '/boot/images/deb/PACK%2froot',
    '/boot/images/deb/PACK/root%00',
    '/boot/images/deb/PACK/muster-image.json',
    '/boot/images/../images/deb/PACK/root',
    '/boot/images/nosuch/PACK/root',
    '/boot/images/deb/0000000000000000/root',
    '//boot/images/deb/PACK/root',
    '/boot/%ff.ipxe',
    '/etc/passwd',
    '/boot/loaders/../../etc/passwd',
    '/boot/x.ipxe',
  ])('there is nothing at %s', async (path) => {
    const { status: code } = await lab.from(n1, path.replaceAll('PACK', pack));
    // nginx does not pass on what can be no path at all.
    expect(sender === 'nginx' && path.endsWith('%00') ? 400 : 404).toBe(code);
  });

  it.each(['PUT', 'DELETE', 'POST', 'PATCH'])('nothing can be changed by %s', async (method) => {
    expect((await lab.from(n1, script, { method, headers: { 'content-length': '1' }, body: 'x' })).status).toBe(405);
  });
});
