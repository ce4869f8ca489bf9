import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { type CallOptions, type Reply } from '../harness/client.ts';
import { errorOf } from '../harness/errors.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { file as entry, directory, symbolicLink, tar, type TestEntry } from '../lab/oci/tar.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { labImage, type RedfishFaults, type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define, labNode, labNodes } from './nodes.ts';

const count = 12;
const environment = {
  MUSTER_HARDWARE_FIRMWARE_SETTLE: '1',
  MUSTER_HARDWARE_FIRMWARE_TIMEOUT: '30',
  MUSTER_HARDWARE_FLASH_ASK: '4',
  MUSTER_HARDWARE_FLASH_FAILURES: '2',
};

let server: TestServer;
let lab: RedfishLab;
let bmcs: BmcLab;
let own: string;

beforeAll(async () => {
  const data = temporaryDirectory();
  own = temporaryDirectory();
  [server, lab, bmcs] = await Promise.all([
    startServer({ data, environment }),
    startRedfish({ count, prefix: '127.208', kinds: ['plain'] }),
    startBmcs({ count: 1, prefix: '127.209' }),
  ]);
  await define(server, { ...labNodes('n', 'redfish', lab.addresses), i1: labNode('ipmi', bmcs.addresses[0]!) });
}, 300_000);
afterAll(async () => {
  await Promise.all([server?.stop(), lab?.stop(), bmcs?.stop()]);
  rmSync(own, { recursive: true, force: true });
});

const usual = {
  time: 300,
  away: 300,
  fails: false,
  keepsVersion: false,
  cutsAfter: false,
  slowness: 0,
  foreign: false,
} as const;
const fault = (node: number, update: RedfishFaults['update'] = {}) => lab.fault(node - 1, { update });
afterEach(() =>
  Promise.all(Array.from({ length: count }, (_, index) => lab.fault(index, { update: usual, dead: false }))),
);

const imagesOf = async (node: number) => (await lab.state(node - 1)).images;
const sentTo = async (range: readonly number[]): Promise<number> =>
  (await Promise.all(range.map(imagesOf))).reduce((sum, images) => sum + images.length, 0);
const everyNode = Array.from({ length: count }, (_, index) => index + 1);

const send = (range: string, entries: TestEntry[] | Buffer, options: CallOptions = {}): Promise<Reply> =>
  server.call('PUT', `/nodes/${range}/firmware`, {
    ...options,
    body: Buffer.isBuffer(entries) ? entries : tar(entries),
    headers: { 'Content-Type': 'application/x-tar', ...options.headers },
  });
const image = (component: string, version: string, size?: number): TestEntry[] => [
  entry(`${component}.bin`, labImage(component, version, size).toString('latin1')),
];
const run = (...argv: string[]) => program(muster, argv, environmentFor(server, own));
const imageFile = (version: string, component = 'bios', size = 50_000): string => {
  const path = join(own, `${component}-${version}.bin`);
  writeFileSync(path, labImage(component, version, size));
  return path;
};

describe('firmware of nodes', () => {
  it('is shown with components', async () => {
    expect(await server.ok('GET', '/nodes/n1/firmware')).toEqual({
      n1: {
        'System Model': expect.any(String) as string,
        'BMC Firmware (bmc)': '2.15.0',
        'Host BIOS (bios)': 'LAB-BIOS-1.42',
      },
    });
    expect((await run('rflash', 'n2', '-l')).stdout).toContain('n2: Host BIOS (bios): LAB-BIOS-1.42\n');
    expect((await run('rflash', 'n2', '-c')).stdout).toContain('n2: BMC Firmware (bmc): 2.15.1\n');
  });

  it('is updated by a file that the caller sends, and nothing of it stays behind', async () => {
    const reply = await send('n1,n2', image('bios', 'V-1', 100_000), { query: { component: 'bios', version: 'V-1' } });
    expect(reply.json).toEqual({
      n1: { firmware: 'updated', changed: ['bios: LAB-BIOS-1.42 to V-1'], Message: expect.any(String) as string },
      n2: { firmware: 'updated', changed: ['bios: LAB-BIOS-1.42 to V-1'], Message: expect.any(String) as string },
    });
    expect((await imagesOf(1)).at(-1)).toMatchObject({ version: 'V-1', size: 100_000, way: 'multipart' });
    const again = await send('n1,n2', image('bios', 'V-1', 100_000), { query: { component: 'bios', version: 'V-1' } });
    expect(again.json['n1']).toMatchObject({ firmware: 'already' });
    expect(await sentTo([1, 2])).toBe(2);
    const status = await server.ok('GET', '/runs');
    expect(status.runs[0]).toMatchObject({ command: 'rflash', ok: 2 });
  });

  it('is updated from the command line, with what BMCs say on request', async () => {
    await fault(3, { time: 4_000 });
    const done = await run('rflash', 'n3', imageFile('V-2'), '--component', 'bios', '-V');
    expect([done.stdout, done.code]).toEqual(['n3: updated bios: LAB-BIOS-1.42 to V-2\n', 0]);
    expect(done.stderr).toMatch(/n3: Running \d+ %: Step \d of 5: writing bios\./);
    const staged = await run('rflash', 'n3', '-u', imageFile('V-3'));
    expect(staged).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^n3: staged: its BMC has .*V-3\.bin/) as string,
    });
    expect((await run('rflash', 'n3', '--start')).stdout).toBe('n3: updated bios: V-2 to V-3\n');
  });

  it('is updated from a file of the management node, where accounts may read it', async () => {
    const files = join(server.data, 'files');
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, 'bios.bin'), labImage('bios', 'V-4'));
    const body = { file: join(files, 'bios.bin'), component: 'bios' };
    expect((await server.ok('POST', '/nodes/n4/firmware', body)).n4).toMatchObject({ firmware: 'updated' });
  });

  it.each<[string, TestEntry[], RegExp]>([
    ['two files', [entry('a', 'x'), entry('b', 'x')], /one image/],
    ['a directory', [directory('d')], /one file, not a directory/],
    ['a link', [symbolicLink('l', '/etc/shadow')], /one file, not a directory/],
    ['nothing', [entry('empty', '')], /the image is empty/],
  ])('is not updated by %s', async (_what, entries, words) => {
    const before = await sentTo([5]);
    const reply = await send('n5', entries);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.text).toMatch(words);
    expect(await sentTo([5])).toBe(before);
  });

  it('has its kind named where nothing can update it', async () => {
    const reply = await send('i1', image('bios', 'V'));
    expect(reply.text).toMatch(/mgt \\"ipmi\\" has no update of firmware/);
    expect((await run('rflash', 'i1', '-l')).stderr).toMatch(/i1: .*Error: .*Unable to identify plugin/);
  });

  it('is of a large file, which no node holds in memory', async () => {
    const size = 64 * 1024 * 1024;
    await fault(5, { slowness: 1 });
    const reply = await send('n5,n6,n7', tar(image('bios', 'V-5', size)), { query: { component: 'bios' } });
    expect(Object.values(reply.json as object)).toHaveLength(3);
    for (const node of [5, 6, 7]) expect((await imagesOf(node)).at(-1)).toMatchObject({ size, version: 'V-5' });
  }, 300_000);
});

describe('an update', () => {
  it('of more nodes than a setting says needs a confirmation of their number', async () => {
    const before = await sentTo(everyNode);
    const body = { url: 'http://127.0.0.1:1/bios.bin' };
    const refused = await server.call('POST', '/nodes/n1-n6/firmware', { body });
    expect(errorOf(refused)).toEqual([403, 1]);
    expect(refused.json.error[0]).toMatch(/These are 6 nodes, more than the 4 of .*flashAsk\. Confirm .* "nodes": 6/);
    const wrong = await server.call('POST', '/nodes/n1-n6/firmware', { body: { ...body, nodes: 5 } });
    expect(wrong.status).toBe(417);
    const shell = await run('rflash', 'n1-n6', imageFile('V-6'));
    expect(shell).toMatchObject({ code: 1, stderr: expect.stringMatching(/--yes of rflash/) as string });
    expect(await sentTo(everyNode)).toBe(before);
    const confirmed = await run('rflash', 'n8-n12', imageFile('V-6'), '--yes');
    expect([confirmed.code, confirmed.stderr]).toEqual([0, '']);
    expect(confirmed.stdout.split('\n').filter((line) => line.includes('updated bios'))).toHaveLength(5);
  });

  it('shows in a dry run what would get what, and sends nothing', async () => {
    const before = await sentTo(everyNode);
    const tried = await run('rflash', 'n8-n12', imageFile('V-7'), '--component', 'bios', '--dry-run');
    expect(tried.stdout).toMatch(/n8: dry run mgt=redfish address=127\.208\S+ .*now=bios V-6/);
    const unknown = await run('rflash', 'n8', imageFile('V-7'), '--component', 'nic', '--dry-run');
    expect(unknown.stderr).toMatch(/n8: .*has no component "nic"/);
    expect(await sentTo(everyNode)).toBe(before);
  });

  it('begins no more when too many nodes have failed', async () => {
    await Promise.all(everyNode.map((node) => fault(node, { fails: 'The flash is worn out.' })));
    const before = await sentTo(everyNode);
    const reply = await send('n1-n12', image('bios', 'V-8'), { query: { nodes: '12', atOnce: '2', stopAfter: '3' } });
    expect(errorOf(reply)).toEqual([403, 1]);
    const lines = reply.json.error as string[];
    expect(lines.filter((line) => line.includes('The flash is worn out.')).length).toBeLessThan(6);
    expect(
      lines.filter((line) => /nothing was sent to it, because \d nodes have failed/.test(line)).length,
    ).toBeGreaterThan(6);
    expect((await sentTo(everyNode)) - before).toBeLessThan(6);
  });

  it('of one BMC is one at a time, also from two requests', async () => {
    await fault(1, { time: 2_500 });
    const before = await sentTo([1]);
    const first = send('n1', image('bios', 'V-9'));
    await expect.poll(() => sentTo([1])).toBe(before + 1);
    const second = await send('n1', image('bios', 'V-10'));
    expect((await first).status).toBe(200);
    // Its turn came when the first had ended, or it saw that at work.
    expect([200, 403, 409, 503]).toContain(second.status);
    const tasks = await imagesOf(1);
    expect(tasks.length - before).toBe(second.status === 200 ? 2 : 1);
  });

  it('that the server is killed in is neither repeated nor lost', async () => {
    await fault(2, { time: 6_000 });
    const before = await sentTo([2]);
    const path = imageFile('V-11');
    const first = run('rflash', 'n2', path).catch((error: unknown) => error);
    await expect.poll(() => sentTo([2]), { timeout: 60_000 }).toBe(before + 1);
    await expect
      .poll(async () => JSON.stringify((await server.ok('GET', '/runs')).runs[0]), { timeout: 60_000 })
      .toContain('running');
    const { runs } = await server.ok('GET', '/runs');
    await server.kill();
    await first;
    server = await startServer({ data: server.data, environment });
    const left = await server.ok('GET', `/runs/${runs[0].id}`);
    expect(left).toMatchObject({
      command: 'rflash',
      state: 'interrupted',
      underWay: { n2: expect.any(String) as string },
    });
    const again = await run('rflash', 'n2', path, '-V');
    expect([again.stdout, again.code]).toEqual([expect.stringMatching(/^n2: updated bios: .* to V-11\n$/), 0]);
    expect(await sentTo([2])).toBe(before + 1);
    // And when it had ended meanwhile.
    await fault(2, { time: 1_500 });
    const other = imageFile('V-12');
    const third = run('rflash', 'n2', other).catch((error: unknown) => error);
    await expect.poll(() => sentTo([2]), { timeout: 60_000 }).toBe(before + 2);
    await server.kill();
    await third;
    await expect.poll(async () => (await lab.state(1)).versions['bios'], { timeout: 60_000 }).toBe('V-12');
    server = await startServer({ data: server.data, environment });
    expect((await run('rflash', 'n2', other)).stdout).toMatch(/^n2: updated bios: V-11 to V-12\n$/);
    expect(await sentTo([2])).toBe(before + 2);
  }, 300_000);

  it('is for accounts whose rules allow it, and only for their nodes and files', async () => {
    const clerk = await addUser(server, 'clerk');
    const before = await sentTo(everyNode);
    const by = (range: string, options: CallOptions = {}) =>
      send(range, image('bios', 'V-13'), { ...options, token: clerk });
    expect((await by('n3')).status).toBe(403);
    await server.ok('PUT', '/policy/7.1', {
      name: 'clerk',
      commands: 'rflash',
      noderange: 'n3',
      rule: 'allow',
      parameters: '-l',
    });
    expect((await server.call('GET', '/nodes/n3/firmware', { token: clerk })).status).toBe(200);
    expect((await server.call('GET', '/nodes/n3,n4/firmware', { token: clerk })).status).toBeGreaterThanOrEqual(400);
    expect((await by('n3')).status).toBe(403);
    expect(await sentTo(everyNode)).toBe(before);
    await server.ok('PUT', '/policy/7.1', { parameters: '' });
    await server.ok('PUT', '/policy/7.1', { parameters: 'client:bios.bin --component bios' });
    expect((await by('n3')).status).toBe(403);
    expect((await by('n3', { query: { component: 'bios' } })).json['n3']).toMatchObject({ firmware: 'updated' });
    expect((await by('n4', { query: { component: 'bios' } })).status).toBeGreaterThanOrEqual(400);
    const elsewhere = { file: '/etc/shadow', component: 'bios' };
    expect((await server.call('POST', '/nodes/n3/firmware', { body: elsewhere, token: clerk })).status).toBe(403);
    expect((await server.call('POST', '/nodes/n3/firmware', { body: elsewhere, token: null })).status).toBe(401);
  });

  it.each<[object, RegExp]>([
    [{}, /Give one image/],
    [{ url: 'http://a/b', file: '/x' }, /Give one image/],
    [{ url: 'http://user:secret@a/b' }, /has an account in it/],
    [{ url: 'gopher://a/b' }, /BMCs fetch images by http/],
    [{ url: 'no address' }, /is not a URL/],
    [{ url: 'http://a/b', version: '1' }, /name the component/],
    [{ url: 'http://a/b', apply: 'later' }, /apply/],
    [{ url: 'http://a/b', force: true }, /force/],
    [{ action: 'start', component: 'bios' }, /takes no image/],
  ])('is refused before anything is done: %j', async (body, words) => {
    const reply = await server.call('POST', '/nodes/n1/firmware', { body });
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.text).toMatch(words);
    expect(reply.text).not.toContain('secret@');
  });

  it.each<[readonly string[], RegExp]>([
    [['-d', '/dir'], /muster sends one image at a time/],
    [['--delete', 'abc'], /deletes no images/],
    [['--commit'], /POWER/],
    [['--retry', '3'], /sends an image once/],
    [['-l', 'file.bin'], /does not read the version in a file/],
    [['-l', '--start'], /Give one of/],
    [['--catalog', 'x'], /goes with -l/],
    [['file.bin', 'other.bin'], /too many|other\.bin/],
    [['nosuch.bin'], /No such file/],
    [['--start', '--again'], /goes with an image/],
    [['-u', 'x', '--apply', 'now'], /-u applies nothing/],
    [['--at-once', '0', 'x'], /from 1 on/],
    [['--frobnicate'], /frobnicate/],
  ])('is refused on the command line: %j', async (words, said) => {
    const before = await sentTo([1]);
    const ended = await run('rflash', 'n1', ...words);
    expect(ended.code).not.toBe(0);
    expect(ended.stderr + ended.stdout).toMatch(said);
    expect(await sentTo([1])).toBe(before);
  });
});

describe('versions of many nodes', () => {
  it('are folded, and compared with a catalog of the site', async () => {
    const folded = await run('rflash', 'n8-n12', '-l', '--versions');
    expect(folded.stdout).toContain('Host BIOS (bios): 1 version\n  V-6: n[8-12]\n');
    expect(folded.stdout).toMatch(/BMC Firmware \(bmc\): 5 versions\n/);
    await send('n12', image('bios', 'V-20'));
    const catalog = join(own, 'catalog.yaml');
    writeFileSync(catalog, '"Lab*":\n  bios: V-7\n"*":\n  nic: 1.0\n');
    const behind = await run('rflash', 'n8-n12', '-l', '--catalog', catalog);
    expect(behind).toMatchObject({
      code: 1,
      stdout:
        'Host BIOS (bios): 2 versions\n  V-6: n[8-11], behind: the catalog has V-7\n  V-20: n12, ahead: the catalog has V-7\n',
      stderr: 'n[8-12] shows no "nic", which the catalog names.\n',
    });
    writeFileSync(catalog, '"Lab*": {bios: V-20}\n');
    expect((await run('rflash', 'n12', '-l', '--catalog', catalog)).code).toBe(0);
    writeFileSync(catalog, 'Other: {bios: V-20}\n');
    expect((await run('rflash', 'n12', '-l', '--catalog', catalog)).stderr).toMatch(
      /The catalog has no entry for n12 \(Lab/,
    );
    writeFileSync(catalog, '- a\n');
    expect((await run('rflash', 'n12', '-l', '--catalog', catalog)).stderr).toMatch(/catalog\.yaml: it has no models/);
  });
});
