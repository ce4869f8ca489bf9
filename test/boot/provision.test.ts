import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { environmentFor, muster } from '../cli/command-line.ts';
import { labNode } from '../hardware/nodes.ts';
import { openStream, readStream } from '../hardware/stream.ts';
import { errorOf } from '../harness/errors.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked, type Parts } from './packed-image.ts';

const parts: Parts = { root: randomBytes(1_000), kernel: randomBytes(500), initrd: randomBytes(600) };
let lab: BootLab;
let bmcs: BmcLab;
let pack: string;

const address = (index: number): string => `127.0.3.${index + 1}`;
const mac = (index: number): string => `52:54:00:00:03:0${index + 1}`;
const count = 3;

beforeAll(async () => {
  [lab, bmcs] = await Promise.all([startBootLab({ MUSTER_BOOT_AT_ONCE: '2' }), startBmcs({ count, prefix: '127.61' })]);
  const more = (index: number) => ({ netboot: 'xnba', arch: 'x86_64', ip: address(index), mac: mac(index) });
  await lab.server.ok('PUT', '/nodes', {
    ...Object.fromEntries(bmcs.addresses.map((bmc, index) => [`p${index + 1}`, labNode('ipmi', bmc, more(index))])),
    silent: labNode('ipmi', '127.61.9.9', { ...more(7) }),
    bare: { groups: 'all', netboot: 'xnba', arch: 'x86_64' },
    other: labNode('ipmi', bmcs.addresses[0]!, { netboot: 'xnba', arch: 'aarch64', mac: mac(8) }),
    nonet: labNode('ipmi', bmcs.addresses[0]!, { arch: 'x86_64', mac: mac(8) }),
    nomac: labNode('ipmi', bmcs.addresses[0]!, { netboot: 'xnba', arch: 'x86_64' }),
  });
  pack = await definePacked(lab, 'deb', parts);
});
afterAll(() => Promise.all([lab?.stop(), bmcs?.stop()]));

beforeEach(() => lab.server.ok('PUT', '/nodes/p1-p3/power', { action: 'off' }));

const isOn = (index: number) => expect.poll(() => bmcs.state(index).power, { timeout: 60_000 }).toBe('on');
const scriptOf = async (index: number): Promise<string> =>
  (await lab.from(address(index), `/boot/${mac(index).replaceAll(':', '-')}.ipxe`)).text;

/** A machine that boots when it is powered on: it fetches its files, and reports these lines. */
async function machine(index: number, lines: readonly string[]): Promise<void> {
  await isOn(index);
  const script = await scriptOf(index);
  for (const kind of ['kernel', 'initrd', 'root'])
    expect((await lab.from(address(index), `/boot/images/deb/${pack}/${kind}`)).status).toBe(200);
  const path = /muster\.report=http:\/\/[^/]+(\/boot\/report\/\S+)/.exec(script)![1]!;
  for (const body of lines) expect((await lab.from(address(index), path, { method: 'POST', body })).status).toBe(204);
}
const booting = ['initramfs', 'fetched 1000 bytes', 'booting', 'booted'];
const post = (range: string, body: object = { osimage: 'deb' }, options: object = {}) =>
  lab.server.call('POST', `/nodes/${range}/provision`, { body, ...options });

describe('provisioning', () => {
  it('sets the boot state, boots from the network and ends when the node says that it has booted', async () => {
    const before = bmcs.state(0).changes.length;
    const [reply] = await Promise.all([post('p1'), machine(0, booting)]);
    expect([reply.status, reply.json]).toEqual([201, { p1: { provision: 'booted', seconds: expect.any(String) } }]);
    expect(await lab.server.ok('GET', '/nodes/p1/attrs/provmethod,currstate,status')).toEqual({
      p1: { provmethod: 'deb', currstate: 'netboot debian12-x86_64-compute', status: 'booted' },
    });
    const network = 0x80_04;
    expect(bmcs.state(0).changes.slice(before)).toEqual([`bootflags=${network}`, 'power=1', 'bootused=1']);
  });

  it('lets no more boot at once than the setting says, and tells results as they come', async () => {
    const stream = await openStream(lab.server, 'POST', '/nodes/p1-p3/provision', { osimage: 'deb' });
    // Two are powered on; the third waits until one has booted.
    const states = () => [0, 1, 2].filter((index) => bmcs.state(index).power === 'on');
    await expect.poll(() => states().length, { timeout: 60_000 }).toBe(2);
    const [first, second] = states() as [number, number];
    const third = 3 - first - second;
    await machine(first, booting);
    await expect.poll(() => stream.lines.length).toBe(1);
    expect(stream.lines[0]!.json).toEqual({
      node: `p${first + 1}`,
      value: { provision: 'booted', seconds: expect.any(String) },
    });
    await machine(third, booting);
    expect(bmcs.state(second).power).toBe('on');
    await machine(second, ['initramfs', 'failed no disk']);
    await stream.ended;
    const error = stream.lines.find(({ json }) => json.node === `p${second + 1}`)!.json.error;
    expect(error).toMatch(/^it was powered on, and its boot has failed\. It failed \d+ seconds ago: no disk\.$/);
    expect(stream.lines.at(-1)!.json).toEqual({ summary: { nodes: 3, ok: 2, failed: 1, errorcode: 1 } });
  });

  it('of a node that hangs tells how far it came', async () => {
    const fetch = async () => {
      await isOn(0);
      await scriptOf(0);
    };
    const [reply] = await Promise.all([post('p1,p2', { osimage: 'deb', seconds: 3 }), fetch()]);
    expect(errorOf(reply)).toEqual([408, 4]);
    expect(reply.json.error).toEqual([
      expect.stringMatching(
        /^p1: it was powered on, and it has not booted within 3 seconds\. It fetched the boot script \d seconds ago, and never the kernel\.$/,
      ),
      expect.stringMatching(
        /^p2: it was powered on, and it has not booted within 3 seconds\. Nothing was seen of it .*does it boot from the network\?$/,
      ),
    ]);
  });

  it('of a node that cannot be provisioned names the step, and changes nothing of it before it must', async () => {
    const { lines } = await readStream(lab.server, 'POST', '/nodes/silent,bare,other,nonet,nomac/provision', {
      osimage: 'deb',
    });
    const errors = Object.fromEntries(lines.slice(0, -1).map(({ json }) => [json.node, json.error]));
    expect(errors).toEqual({
      silent: expect.stringMatching(
        /^it could not be set to boot from the network: .* It is set to offline, as before\.$/s,
      ),
      bare: "Missing the 'mgt' attribute.",
      other: 'its arch is aarch64, but the image deb is for x86_64.',
      nonet: "Missing the 'netboot' attribute.",
      nomac: 'No MAC address available for this node',
    });
    for (const node of ['silent', 'bare', 'other', 'nonet', 'nomac'])
      expect(await lab.server.ok('GET', `/nodes/${node}/bootstate`)).toEqual({ [node]: { bootstat: 'offline' } });
    expect(bmcs.state(0).power).toBe('off');
  });

  it('that fails at the BMC leaves the node set to what it was, with its own image', async () => {
    const { server } = lab;
    await server.ok('PUT', '/nodes/silent/bootstate', { state: 'runcmd=true,boot' });
    const before = await server.ok('GET', '/nodes/silent');
    const tables = () =>
      Promise.all(
        ['chain', 'nodetype', 'bootchoice'].map(
          async (name) => (await server.call('GET', `/tables/${name}/rows/node=silent`)).json,
        ),
      );
    const rows = await tables();
    const reply = await post('silent');
    expect(reply.json.error).toEqual([expect.stringMatching(/It is set to runcmd=true, as before\.$/)]);
    expect(await tables()).toEqual(rows);
    expect(await server.ok('GET', '/nodes/silent')).toEqual(before);
  });

  it('takes the image that a node has, and states for which there is less to wait', async () => {
    await lab.server.ok('PUT', '/nodes/p1', { provmethod: 'deb' });
    const [reply] = await Promise.all([post('p1', {}), machine(0, booting)]);
    expect(reply.json).toMatchObject({ p1: { provision: 'booted' } });
    await lab.server.ok('PUT', '/nodes/p1/power', { action: 'off' });
    const local = async () => {
      await isOn(0);
      expect(await scriptOf(0)).toContain('#boot');
    };
    const [booted] = await Promise.all([post('p1', { state: 'boot' }), local()]);
    expect(booted.json).toMatchObject({ p1: { provision: 'boot' } });
  });

  it('is answered at once for who prefers that, and cancelled with its run; nobody else provisions the node meanwhile', async () => {
    await lab.server.ok('PUT', '/nodes/p1', { status: 'unknown' });
    const reply = await post('p1', { osimage: 'deb' }, { headers: { Prefer: 'respond-async' } });
    const run = String(reply.headers['x-muster-run']);
    expect([reply.status, reply.text, reply.headers['location']]).toEqual([202, '', `/muster/runs/${run}`]);
    await isOn(0);
    const again = await post('p1');
    expect([errorOf(again), again.json.error]).toEqual([
      [403, 1],
      [expect.stringMatching(/^p1: user "root" has been provisioning it since /)],
    ]);
    expect(await lab.server.ok('GET', `/runs/${run}`)).toMatchObject({
      state: 'running',
      command: 'rinstall',
      nodes: 1,
    });
    const status = async () => (await lab.server.ok('GET', '/nodes/p1/attrs/status')).p1.status;
    await expect.poll(status).toBe('powering-on');
    await lab.server.ok('DELETE', `/runs/${run}`);
    const ended = async () => (await lab.server.ok('GET', `/runs/${run}`)).state;
    await expect.poll(ended).toBe('cancelled');
    expect(await lab.server.ok('GET', `/runs/${run}`)).toMatchObject({
      results: [
        {
          node: 'p1',
          error: 'The run was cancelled. It was powered on and boots: it stays set to netboot debian12-x86_64-compute.',
        },
      ],
    });
  });

  it('by PUT is done when the node is powered on, as clients of the reference system expect', async () => {
    const reply = await lab.server.call('PUT', '/nodes/p1/provision', { root: '/xcatws', body: { osimage: 'deb' } });
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect(bmcs.state(0).power).toBe('on');
    expect(await lab.server.ok('GET', '/nodes/p1/attrs/status')).toEqual({ p1: { status: 'powering-on' } });
    expect((await lab.server.call('PUT', '/nodes/p1/provision', { body: { action: 'boot' } })).status).toBe(200);
    expect(await lab.server.ok('GET', '/nodes/p1/bootstate')).toEqual({ p1: { bootstat: 'boot' } });
  });

  it('is judged as rinstall, on every node, whatever it does', async () => {
    const token = await addUser(lab.server, 'op');
    await lab.server.ok('POST', '/policy/5', { name: 'op', commands: 'nodeset,rsetboot,rpower', rule: 'allow' });
    expect(errorOf(await post('p1', { state: 'boot' }, { token }))).toEqual([403, 2]);
    await lab.server.ok('PUT', '/policy/5', {
      commands: 'rinstall',
      noderange: 'p1',
      parameters: 'osimage=deb',
    });
    expect(errorOf(await post('p1,p2', { osimage: 'deb' }, { token }))).toEqual([403, 2]);
    expect(errorOf(await post('p1', { state: 'boot' }, { token }))).toEqual([403, 2]);
    const put = await lab.server.call('PUT', '/nodes/p1/provision', { token, body: { osimage: 'deb' } });
    expect(put.status).toBe(200);
    expect(bmcs.state(1).power).toBe('off');
  });

  it.each([
    [{ osimage: 'nosuch' }, 403, /Cannot find the OS image nosuch/],
    [{ state: 'bogus' }, 403, /Unknown state bogus/],
    [{ state: 'offline' }, 403, /it would boot nothing/],
    [{ osimage: 'deb', state: 'boot' }, 400, /not both/],
    [{ seconds: 0 }, 400, /seconds/],
  ])('with %j is refused, and nothing happens', async (body, status, message) => {
    const reply = await post('p1', body);
    expect([reply.status, reply.json.error.join(' ')]).toEqual([status, expect.stringMatching(message)]);
    expect(bmcs.state(0).power).toBe('off');
  });
});

it('rinstall that Ctrl-C ends says what became of each node, and no step is said to have failed', async () => {
  const env = environmentFor(lab.server, lab.server.data);
  const child = spawn(muster, ['rinstall', 'p1', 'osimage=deb', '--wait', '--yes'], { env, stdio: 'pipe' });
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  const closed = once(child, 'close');
  await isOn(0);
  child.kill('SIGINT');
  expect((await closed)[0]).toBe(1);
  expect(await stdout).toMatch(/^Provision node\(s\): p1\np1: .*cancelled/);
  expect(await stderr).not.toContain('Failed to run');
});

it('a stop of muster does not wait for machines that boot', async () => {
  const other = await startBootLab({ MUSTER_BOOT_AT_ONCE: '1' });
  const node = (index: number) =>
    labNode('ipmi', bmcs.addresses[index]!, { netboot: 'xnba', arch: 'x86_64', mac: mac(index) });
  await other.server.ok('PUT', '/nodes', { p1: node(0), p2: node(1) });
  await other.server.ok('PUT', '/nodes/p1-p2/power', { action: 'off' });
  await definePacked(other, 'deb', parts);
  const stream = await openStream(other.server, 'POST', '/nodes/p1-p2/provision', { osimage: 'deb' });
  await isOn(0);
  await other.stop();
  await stream.ended;
  const errors = Object.fromEntries(stream.lines.slice(0, 2).map(({ json }) => [json.node, json.error]));
  expect(errors).toEqual({
    p1: expect.stringMatching(/^it was powered on, and muster was stopped; the machine goes on\. /),
    p2: expect.stringMatching(/^muster was stopped before its turn came; its boot state is set/),
  });
  expect(bmcs.state(1).power).toBe('off');
});
