import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { ipmitool } from '../lab/tools.ts';
import { define, labNode, labNodes } from './nodes.ts';
import { readStream } from './stream.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;
/** Takes a minute to change its power state. */
let sluggish: RedfishLab;

beforeAll(async () => {
  [server, bmcs, services, sluggish] = await Promise.all([
    startServer({ environment: { MUSTER_POWER_TIMEOUT: '2' } }),
    startBmcs({ count: 3, prefix: '127.72' }),
    startRedfish({ count: 2, prefix: '127.73', kinds: ['plain', 'openbmc'] }),
    startRedfish({ count: 2, prefix: '127.74', kinds: ['plain'], powerDelay: 60_000 }),
  ]);
  await define(server, {
    ...labNodes('i', 'ipmi', bmcs.addresses),
    rf: labNode('redfish', services.addresses[0]!),
    ob: labNode('openbmc', services.addresses[1]!),
    ...labNodes('slow', 'redfish', sluggish.addresses),
  });
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop(), sluggish?.stop()]));

const power = (range: string, action: string) => server.call('PUT', `/nodes/${range}/power`, { body: { action } });
const stateOf = async (range: string) => (await server.ok('GET', `/nodes/${range}/power`)) as unknown;

describe('power of an IPMI node', () => {
  it.each([
    ['off', 'on', 'on', ['power=1']],
    ['on', 'on', 'on', []],
    ['on', 'reset', 'on', ['reset=1']],
    ['on', 'boot', 'on', ['reset=1']],
    ['on', 'cycle', 'on', ['power=0', 'power=1']],
    ['on', 'softoff', 'off', ['soft=1', 'power=0']],
    ['off', 'softoff', 'off', []],
    ['off', 'off', 'off', []],
    ['off', 'reset', 'off', []],
    ['off', 'cycle', 'off', []],
    ['off', 'boot', 'on', ['power=1']],
    ['on', 'off', 'off', ['power=0']],
  ])('that is %s: %s makes it %s', async (before, action, after, done) => {
    const { power: now, changes } = bmcs.state(0);
    expect(now).toBe(before);
    const reply = await power('i1', action);
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect(await stateOf('i1')).toEqual({ i1: { power: after } });
    expect(await ipmitool(bmcs.addresses[0]!, ['chassis', 'power', 'status'])).toContain(`is ${after}`);
    expect(bmcs.state(0).changes.slice(changes.length)).toEqual(done);
  });
});

describe.each([
  ['rf', 0],
  ['ob', 1],
] as const)('power of the Redfish node %s', (node, index) => {
  it.each([
    ['off', 'reset', 'off', []],
    ['off', 'on', 'on', ['On']],
    ['on', 'on', 'on', []],
    ['on', 'reset', 'on', ['ForceRestart']],
    ['on', 'boot', 'on', ['ForceRestart']],
    ['on', 'cycle', 'on', ['PowerCycle']],
    ['on', 'nmi', 'on', ['Nmi']],
    ['on', 'softoff', 'off', ['GracefulShutdown']],
    ['off', 'boot', 'on', ['On']],
    ['on', 'off', 'off', ['ForceOff']],
    ['off', 'off', 'off', []],
  ])('that is %s: %s makes it %s', async (before, action, after, done) => {
    expect(await stateOf(node)).toEqual({ [node]: { power: before } });
    const { resets } = await services.state(index);
    const reply = await power(node, action);
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect(await stateOf(node)).toEqual({ [node]: { power: after } });
    expect((await services.state(index)).resets.slice(resets.length)).toEqual(done);
  });
});

describe('a power action', () => {
  it('that is unknown lists the known ones and is sent nowhere', async () => {
    const { changes } = bmcs.state(0);
    const reply = await power('i1,rf', 'explode');
    expect(errorOf(reply)).toEqual([403, 1]);
    const known =
      'on, off, softoff, reset, boot, cycle, nmi, wake, suspend, stat, state, status, bmcstate, bmcreboot, pduon, pduoff, pdustat, pdureset, chassison, chassisoff, chassisreset, chassisstat';
    expect(reply.json.error).toEqual([`"explode" is not a power action; known are ${known}.`]);
    expect(bmcs.state(0).changes).toEqual(changes);
  });

  it('that the hardware has not lists those it has', async () => {
    const wake = await power('i1', 'wake');
    expect(errorOf(wake)).toEqual([403, 1]);
    expect(wake.json.error[0]).toMatch(/^i1: IPMI has no power action "wake"; it has on, off, softoff, reset, boot,/);
    const suspend = await power('rf', 'suspend');
    expect(suspend.json.error[0]).toMatch(/^rf: its BMC has no power action suspend; it has on, off,/);
  });

  it.each([
    ['/muster', 400],
    ['/xcatws', 404],
  ])('is needed: at %s without one %i', async (root, status) => {
    for (const body of [{}, { action: '' }])
      expect(errorOf(await server.call('PUT', '/nodes/i1/power', { root, body }))).toEqual([status, 2]);
    expect(errorOf(await server.call('PUT', '/nodes/i1/power', { root, body: { action: 5 } }))).toEqual([400, 2]);
  });

  it('needs a node', async () => {
    await server.ok('PUT', '/groups/nobody', { members: '' });
    expect(errorOf(await power('@nobody', 'on'))).toEqual([403, 1]);
    expect(errorOf(await power('i1,nosuch', 'on'))).toEqual([404, 1]);
    expect(bmcs.state(0).power).toBe('off');
  });

  it('stat, state and status only read, and say nothing', async () => {
    for (const action of ['stat', 'state', 'status']) {
      const reply = await power('i1', action);
      expect([reply.status, reply.text]).toEqual([200, '']);
    }
  });

  it('works on many nodes at once', async () => {
    expect((await power('i1-i3,rf,ob', 'on')).status).toBe(200);
    expect(await ipmitool(bmcs.addresses[2]!, ['chassis', 'power', 'status'])).toContain('is on');
    const merged = await server.ok('GET', '/nodes/i1-i3,rf,ob/power', undefined, { query: { xcoll: 1 } });
    expect(merged).toEqual({ 'i1,i2,i3,ob,rf': { power: 'on' } });
    const { lines } = await readStream(server, 'PUT', '/nodes/i1-i3,rf,ob/power', { action: 'off' });
    expect(lines.slice(0, -1).map(({ json }) => json.value)).toEqual(
      Array.from({ length: 5 }, () => ({ power: 'off' })),
    );
    expect(lines.at(-1)!.json).toEqual({ summary: { nodes: 5, ok: 5, failed: 0, errorcode: 0 } });
  });
});

describe('the driver of a node', () => {
  it('is picked by its attribute power before mgt, for power alone', async () => {
    // An address where only IPMI answers.
    await define(server, { both: labNode('openbmc', bmcs.addresses[1]!, { power: 'ipmi' }) });
    expect((await power('both', 'on')).status).toBe(200);
    expect(bmcs.state(1).power).toBe('on');
    const vitals = await server.call('GET', '/nodes/both/vitals');
    expect(errorOf(vitals)).toEqual([403, 1]);
    expect(vitals.json.error[0]).toMatch(/^both: nothing listens at 127\.72\.0\.2:443/);
    expect((await power('both', 'off')).status).toBe(200);
  });

  it('finds the account in its own table, whatever mgt is', async () => {
    await server.ok('PUT', '/nodes/guest', { groups: 'all', mgt: 'kvm', power: 'ipmi' });
    await server.ok('PUT', '/tables/ipmi/rows/node=guest', {
      bmc: bmcs.addresses[1]!,
      username: 'admin',
      password: 'secret',
    });
    expect(await stateOf('guest')).toEqual({ guest: { power: 'off' } });
  });
});

describe('the status of a node', () => {
  const statusOf = async (node: string) =>
    (await server.ok('GET', `/nodes/${node}/attrs/status,statustime`))[node] ?? {};
  const revision = async () => Number((await server.call('GET', '/nodes')).headers['x-muster-revision']);

  it('follows power actions without a new revision', async () => {
    const before = await revision();
    await power('i2', 'on');
    expect(await statusOf('i2')).toMatchObject({ status: 'powering-on' });
    expect((await statusOf('i2')).statustime).toMatch(/^\d\d-\d\d-\d{4} \d\d:\d\d:\d\d$/);
    await power('i2', 'softoff');
    expect(await statusOf('i2')).toMatchObject({ status: 'powering-off' });
    await power('rf', 'boot');
    expect(await statusOf('rf')).toMatchObject({ status: 'powering-on' });
    await power('rf', 'off');
    expect(await statusOf('rf')).toMatchObject({ status: 'powering-off' });
    expect(await revision()).toBe(before);
  });

  it('is left alone by what changes nothing and by what fails', async () => {
    await power('i2', 'reset');
    await power('i2', 'stat');
    await power('i2', 'wake');
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await statusOf('i2')).toMatchObject({ status: 'powering-off' });
  });

  it('is not written where site.nodestatus says so', async () => {
    await server.ok('PUT', '/globalconf/attrs/nodestatus', { nodestatus: 'n' });
    await power('i3', 'on');
    await power('i2', 'on');
    await server.ok('PUT', '/globalconf/attrs/nodestatus', { nodestatus: 'y' });
    await power('i3', 'off');
    expect(await statusOf('i3')).toMatchObject({ status: 'powering-off' });
    expect(await statusOf('i2')).toMatchObject({ status: 'powering-off' });
  });
});

describe('a node that does not reach the state', () => {
  it('is late: 408 if all are, 403 if only some', async () => {
    const late = /^slow1: its BMC accepted the command, but it is powering-on instead of on after 2 s\.$/;
    const all = await power('slow1', 'on');
    expect(errorOf(all)).toEqual([408, 4]);
    expect(all.json.error).toEqual([expect.stringMatching(late)]);
    const run = await server.ok('GET', `/runs/${String(all.headers['x-muster-run'])}`);
    expect(run).toMatchObject({ state: 'finished', failed: 1, errorcode: 4 });
    const [some, stream] = await Promise.all([
      power('slow2,i1', 'on'),
      readStream(server, 'PUT', '/nodes/slow1,rf/power', { action: 'boot' }),
    ]);
    expect(errorOf(some)).toEqual([403, 1]);
    expect(some.json.error).toHaveLength(1);
    expect(bmcs.state(0).power).toBe('on');
    expect(stream.lines.at(-1)!.json).toEqual({ summary: { nodes: 2, ok: 1, failed: 1, errorcode: 1 } });
    expect(stream.lines[0]!.json).toMatchObject({ node: 'rf', value: { power: 'on' } });
    expect(stream.lines[0]!.at).toBeLessThan(stream.lines[1]!.at - 500);
  });
});
