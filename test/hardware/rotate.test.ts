import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { errorOf } from '../harness/errors.ts';
import { written } from '../harness/output.ts';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { ipmitool } from '../lab/tools.ts';
import { define, labNode } from './nodes.ts';

const data = temporaryDirectory();
let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;

/** Places in the lab of Redfish services. */
const places = { rf: 0, slots: 1, ob: 2 } as const;
const account = '/AccountService/Accounts/';

/** One of the BMCs is silent for as long as a server asks it. */
const start = () => startServer({ data, environment: { MUSTER_IPMI_TIMEOUT: '5' } });

beforeAll(async () => {
  [server, bmcs, services] = await Promise.all([
    start(),
    startBmcs({ count: 2, prefix: '127.134' }),
    startRedfish({ count: 3, prefix: '127.135', kinds: ['plain', 'sparse', 'openbmc'] }),
  ]);
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

/** Nodes get the passwords that their BMCs have at the moment. */
beforeEach(async () => {
  const passwordAt = async (index: number): Promise<string> =>
    (await services.state(index)).accounts.find(({ username }) => username === 'admin')!.password;
  const redfish = async (name: keyof typeof places, mgt = 'redfish') => ({
    [name]: labNode(mgt, services.addresses[places[name]]!, { bmcpassword: await passwordAt(places[name]) }),
  });
  await define(server, { ...(await redfish('rf')), ...(await redfish('slots')), ...(await redfish('ob', 'openbmc')) });
});
afterEach(async () => {
  for (const index of Object.values(places))
    await services.fault(index, { at: false, dead: false, refusesPasswords: false, passwordKept: 0 });
  expect(await pending()).toEqual([]);
});

const rotate = (range: string, body: object = {}, more: object = {}) =>
  server.call('POST', `/nodes/${range}/sp/rotate`, { body, ...more });
const pending = async (): Promise<object[]> => (await server.ok('GET', '/tables/bmcrotation/rows')).bmcrotation ?? [];
const atBmc = async (name: keyof typeof places): Promise<string> =>
  (await services.state(places[name])).accounts.find(({ username }) => username === 'admin')!.password;
/** That muster has the password of the BMC shows by a login that it makes with it. */
const reaches = async (node: string): Promise<boolean> => {
  const { json } = await server.call('GET', `/nodes/${node}/sp/accounts`);
  return json[node]?.admin?.includes('used by muster') === true;
};
/** A login that was refused is not tried again for some seconds. */
const reached = (node: string) =>
  vi.waitFor(async () => expect(await reaches(node)).toBe(true), { timeout: 60_000, interval: 500 });
const held = (name: keyof typeof places) =>
  vi.waitFor(async () => expect((await services.state(places[name])).held).toBe(1), { timeout: 60_000 });
const settled = () => vi.waitFor(async () => expect(await pending()).toEqual([]), { timeout: 120_000, interval: 500 });
const failing = (promise: Promise<unknown>) => promise.catch(() => undefined);

describe('rotating', () => {
  it('gives each BMC a password of its own, and keeps it in the node', async () => {
    const before = await Promise.all(['rf', 'slots', 'ob'].map((name) => atBmc(name as keyof typeof places)));
    const reply = await rotate('rf,slots,ob');
    expect([reply.status, reply.json]).toEqual([
      201,
      Object.fromEntries(['rf', 'slots', 'ob'].map((node) => [node, { password: 'rotated' }])),
    ]);
    const now = await Promise.all(['rf', 'slots', 'ob'].map((name) => atBmc(name as keyof typeof places)));
    expect(new Set(now).size).toBe(3);
    for (const password of now) expect(before).not.toContain(password);
    for (const password of now) expect(password).toMatch(/^[A-Za-z][\w.-]{15}$/);
    for (const node of ['rf', 'slots', 'ob']) expect(await reaches(node), node).toBe(true);
  });

  it('of IPMI BMCs is seen by ipmitool, and the password before is refused', async () => {
    await define(server, { ip: labNode('ipmi', bmcs.addresses[0]!) });
    expect((await rotate('ip')).json).toEqual({ ip: { password: 'rotated' } });
    expect(await reaches('ip')).toBe(true);
    await expect(ipmitool(bmcs.addresses[0]!, ['mc', 'info'])).rejects.toThrow();
  });

  it('nodes that share the value of a group get their own', async () => {
    const { username: bmcusername } = labAccounts.administrator;
    await server.ok('PUT', '/groups/bmcs', { mgt: 'redfish', bmcusername, bmcpassword: await atBmc('rf') });
    await define(server, {
      rf: { ...labNode('redfish', services.addresses[0]!), groups: 'all,bmcs', bmcusername: '', bmcpassword: '' },
    });
    expect((await rotate('rf')).json).toEqual({ rf: { password: 'rotated' } });
    expect(await reaches('rf')).toBe(true);
    expect(queryOutside(join(data, 'muster.sqlite'), "select username from ipmi where node = 'rf'")).toEqual([
      { username: 'admin' },
    ]);
    await server.ok('DELETE', '/groups/bmcs');
  });

  it('takes nodes that share an account together or not at all', async () => {
    await define(server, { rf2: labNode('redfish', services.addresses[0]!, { bmcpassword: await atBmc('rf') }) });
    const before = await atBmc('rf');
    const alone = await rotate('rf');
    expect(alone.json.error).toEqual([
      expect.stringMatching(/^rf: another node reaches the same BMC with the same account/),
    ]);
    expect(await atBmc('rf')).toBe(before);
    expect((await rotate('rf,rf2')).json).toEqual({ rf: { password: 'rotated' }, rf2: { password: 'rotated' } });
    expect([await reaches('rf'), await reaches('rf2')]).toEqual([true, true]);
    await server.ok('DELETE', '/nodes/rf2');
  });

  it('is only tried in a dry run', async () => {
    const before = await atBmc('rf');
    const { json } = await rotate('rf', {}, { query: { dryRun: 1 } });
    expect(json.nodes).toBe(1);
    expect(await atBmc('rf')).toBe(before);
  });

  it('is refused while another request does it, and nothing is lost', async () => {
    await services.fault(places.rf, { at: { method: 'PATCH', path: account, when: 'after', does: 'hold' } });
    const first = rotate('rf');
    await held('rf');
    const second = await rotate('rf');
    expect(second.json.error).toEqual([expect.stringMatching(/^rf: another request gives its BMC a new password/)]);
    await services.fault(places.rf, { at: false });
    expect((await first).json).toEqual({ rf: { password: 'rotated' } });
  });

  it('needs more than the right to a node', async () => {
    const few = { token: await addUser(server, 'rotator') };
    const rule = { name: 'rotator', rule: 'allow', commands: 'bmcrotate' };
    await server.ok('PUT', '/tables/policy/rows/priority=6', { ...rule, noderange: 'rf' });
    const before = await atBmc('rf');
    const reply = await rotate('rf', {}, few);
    expect([errorOf(reply), reply.json.error]).toEqual([
      [403, 2],
      [expect.stringMatching(/decides whom muster trusts/)],
    ]);
    expect(errorOf(await rotate('slots', {}, few))).toEqual([403, 2]);
    expect(await atBmc('rf')).toBe(before);
    await server.ok('PUT', '/tables/policy/rows/priority=6', { ...rule, noderange: '' });
    expect((await rotate('rf', {}, few)).status).toBe(201);
    await server.ok('DELETE', '/tables/policy/rows/priority=6');
  });

  it.each([
    [{ length: 8 }, 400],
    [{ length: 'many' }, 400],
    [{ size: 16 }, 400],
  ])('with the body %j is refused', async (body, status) => {
    expect((await rotate('rf', body)).status).toBe(status);
  });

  it('leaves no password in replies, logs, runs and the journal', async () => {
    const reply = await rotate('rf');
    const password = await atBmc('rf');
    const run = await server.call('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    const stored = ['auditlog', 'muster_journal', 'ipmi'].map((table) =>
      queryOutside(join(data, 'muster.sqlite'), `select * from ${table}`),
    );
    const node = await server.call('GET', '/nodes/rf');
    const changes = await server.call('GET', '/changes');
    for (const text of [reply.text, run.text, node.text, changes.text, JSON.stringify(stored), await written(server)])
      expect(text).not.toContain(password);
  });

  it('is on the command line', async () => {
    const home = temporaryDirectory();
    const run = (...words: string[]) => program(muster, ['bmc', 'rotate', ...words], environmentFor(server, home));
    expect(await run('rf', '--length', '18', '--yes')).toMatchObject({ code: 0, stdout: 'rf: rotated\n' });
    expect(await atBmc('rf')).toHaveLength(18);
    expect(await run('rf', 'more')).toMatchObject({ code: 2 });
    expect(await run('rf', '--role', 'operator')).toMatchObject({ code: 2 });
  });
});

describe('a BMC', () => {
  it('that refuses the password keeps the one before', async () => {
    const before = await atBmc('rf');
    await services.fault(places.rf, { refusesPasswords: true });
    expect((await rotate('rf')).json.error).toEqual([expect.stringMatching(/does not meet the rules/)]);
    expect([await atBmc('rf'), await reaches('rf')]).toEqual([before, true]);
  });

  it.each(['rf', 'slots', 'ob'] as const)('%s that cuts the password gets the one before again', async (name) => {
    const before = await atBmc(name);
    await services.fault(places[name], { passwordKept: 12 });
    const reply = await rotate(name);
    expect(reply.json.error).toEqual([
      expect.stringMatching(/let nobody in with it, so muster has set the one before again/),
    ]);
    expect(await atBmc(name)).toBe(before);
    await reached(name);
  });

  it('that takes a shorter one only is said so', async () => {
    const before = await atBmc('rf');
    expect((await rotate('rf', { length: 30 })).json.error).toEqual([
      expect.stringMatching(/takes passwords of 4 to 20 characters, and 30 were asked for/),
    ]);
    expect(await atBmc('rf')).toBe(before);
  });

  it.each(['before', 'after'] as const)(
    'that dies %s it has set the password is settled by the same command',
    async (when) => {
      await services.fault(places.rf, { at: { method: 'PATCH', path: account, when, does: 'die' } });
      expect((await rotate('rf')).json.error).toEqual([
        expect.stringMatching(/not known whether its BMC has the new password.*keeps both passwords/),
      ]);
      expect(await pending()).toEqual([expect.objectContaining({ node: 'rf', password: '********' })]);
      await services.fault(places.rf, { at: false, dead: false });
      // It may have been settled by itself meanwhile.
      expect((await rotate('rf')).json.rf.password).toMatch(/^(finished|rotated)$/);
      expect(await reaches('rf')).toBe(true);
    },
  );
});

describe('an IPMI BMC', () => {
  /** ipmi_sim keeps 16 bytes of a password. */
  it('that cuts the password gets the one before again', async () => {
    await define(server, { cutter: labNode('ipmi', bmcs.addresses[1]!) });
    expect((await rotate('cutter', { length: 20 })).json.error).toEqual([
      expect.stringMatching(/^cutter: .*new password of 20 characters but let nobody in/),
    ]);
    expect(await ipmitool(bmcs.addresses[1]!, ['mc', 'info'])).toMatch(/Device ID/);
    await reached('cutter');
  });

  it('that is silent is said so, and nothing is pending', async () => {
    await bmcs.fault(1, { loss: 100 });
    expect((await rotate('cutter')).json.error).toEqual([expect.stringMatching(/^cutter: .*answer/)]);
    await bmcs.fault(1, { loss: 0 });
  });
});

describe('a rotation that a BMC has cut short', () => {
  it('is settled by muster itself when the BMC is back', async () => {
    await services.fault(places.ob, { at: { method: 'PATCH', path: account, when: 'after', does: 'die' } });
    expect((await rotate('ob')).json.error).toEqual([expect.stringMatching(/finds out by itself/)]);
    const fresh = await atBmc('ob');
    await services.fault(places.ob, { at: false, dead: false });
    await settled();
    expect(await atBmc('ob')).toBe(fresh);
    await reached('ob');
  });
});

describe('muster that is killed', () => {
  const restart = async (): Promise<void> => {
    await server.kill();
    await services.fault(places.rf, { at: false });
    server = await start();
  };

  it.each([
    ['before anything is sent', { method: 'GET', path: '/AccountService', when: 'before', does: 'hold' }],
    ['before the BMC has the password', { method: 'PATCH', path: account, when: 'before', does: 'hold' }],
    ['before the BMC answers', { method: 'PATCH', path: account, when: 'after', does: 'hold' }],
  ] as const)('%s finds out which password counts when it is started', async (_, at) => {
    await services.fault(places.rf, { at });
    const request = failing(rotate('rf'));
    await held('rf');
    await restart();
    await request;
    await settled();
    expect(await reaches('rf')).toBe(true);
  });

  it('while it tries the new password finds out when it is started', async () => {
    await services.fault(places.rf, { at: { method: 'PATCH', path: account, when: 'after', does: 'hold' } });
    const request = failing(rotate('rf'));
    await held('rf');
    const fresh = await atBmc('rf');
    await services.fault(places.rf, {
      at: { method: 'POST', path: '/SessionService/Sessions', when: 'before', does: 'hold' },
    });
    await held('rf');
    await restart();
    await request;
    await settled();
    expect([await atBmc('rf'), await reaches('rf')]).toEqual([fresh, true]);
  });

  it('gets along with a BMC that had cut the password', async () => {
    const before = await atBmc('rf');
    await services.fault(places.rf, {
      passwordKept: 14,
      at: { method: 'PATCH', path: account, when: 'after', does: 'hold' },
    });
    const request = failing(rotate('rf'));
    await held('rf');
    await restart();
    await request;
    await settled();
    expect(await atBmc('rf')).toBe(before);
    await reached('rf');
  });
});
