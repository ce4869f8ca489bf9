import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { labAccounts, longestAccount } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define } from './nodes.ts';
import { readStream } from './stream.ts';

const fleet = 300;

let server: TestServer;
let bmcs: LightLab;
let services: RedfishLab;

beforeAll(async () => {
  [server, bmcs, services] = await Promise.all([
    startServer(),
    startLightBmcs({ count: fleet, prefix: '127.88' }),
    startRedfish({ count: 2, prefix: '127.89', kinds: ['plain', 'openbmc'] }),
  ]);
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

const power = (range: string) => server.call('GET', `/nodes/${range}/power`);
const account = (key: string, { username, password }: { username: string; password: string }) =>
  server.ok('PUT', `/tables/passwd/rows/key=${key},username=${username}`, { password });

describe('the account of a BMC', () => {
  it('is the node’s own, else that of its kind', async () => {
    await define(server, {
      i: { groups: 'all', mgt: 'ipmi', bmc: bmcs.addresses[0]! },
      rf: { groups: 'all', mgt: 'redfish', bmc: services.addresses[0]! },
      ob: { groups: 'all', mgt: 'openbmc', bmc: services.addresses[1]! },
    });
    const without = await power('i,rf,ob');
    expect(errorOf(without)).toEqual([403, 1]);
    expect(without.json.error).toHaveLength(3);
    expect(without.json.error[0]).toMatch(/^i: it has no user name and no password for its BMC: set bmcusername/);
    // Sentences after the first begin like sentences.
    for (const error of without.json.error) expect(error).not.toMatch(/\. [a-z]/);
    expect((await bmcs.state(0)).openSessions).toBe(0);
    await account('ipmi', labAccounts.operator);
    await account('redfish', labAccounts.user);
    await account('openbmc', { ...labAccounts.administrator, password: 'not-the-one' });
    expect((await power('i,rf')).json).toEqual({ i: { power: 'off' }, rf: { power: 'off' } });
    expect((await power('ob')).json.error[0]).toMatch(/^ob: its BMC does not accept user "admin"/);
    const denied = await server.call('PUT', '/nodes/rf/power', { body: { action: 'on' } });
    expect(denied.json.error[0]).toMatch(/^rf: its BMC does not allow user "viewer"/);
    await server.ok('PUT', '/nodes/ob,rf', { bmcusername: 'admin', bmcpassword: 'secret' });
    expect((await power('ob')).json).toEqual({ ob: { power: 'off' } });
    expect((await server.call('PUT', '/nodes/rf/power', { body: { action: 'on' } })).status).toBe(200);
  });

  it('may be given in two places: the name at the node, the password in its row of the kind', async () => {
    await account('ipmi', labAccounts.user);
    await server.ok('PUT', '/nodes/i', { bmcusername: labAccounts.user.username });
    const denied = await server.call('PUT', '/nodes/i/power', { body: { action: 'on' } });
    expect(denied.json.error[0]).toMatch(/^i: .*refuses the user "viewer"/);
    await server.ok('PUT', '/nodes/i', { bmcusername: '' });
  });

  it('may be as long as IPMI has them, and no longer', async () => {
    const { username: bmcusername, password: bmcpassword } = longestAccount;
    const node = { groups: 'all', mgt: 'ipmi', bmc: bmcs.addresses[1]! };
    await define(server, { long: { ...node, bmcusername, bmcpassword } });
    expect((await power('long')).json).toEqual({ long: { power: 'off' } });
    await define(server, {
      longer: { ...node, bmcusername, bmcpassword: `${bmcpassword}X` },
      umlauts: { ...node, bmcusername, bmcpassword: 'zwölf-schöne-häuser' },
      named: { ...node, bmcusername: `${bmcusername}X`, bmcpassword },
    });
    const reply = await power('longer,umlauts,named');
    expect(reply.json.error).toEqual([
      'longer: the password for IPMI may have at most 20 bytes.',
      'named: the user name for IPMI may have at most 16 bytes.',
      'umlauts: the password for IPMI may have at most 20 bytes.',
    ]);
    expect(reply.text).not.toContain(bmcpassword);
  });

  it('is sent to the networks of BMCs only', async () => {
    await define(server, {
      outside: { groups: 'all', mgt: 'ipmi', bmc: '192.0.2.7', bmcusername: 'admin', bmcpassword: 'secret' },
    });
    const reply = await power('outside');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/^outside: the address 192\.0\.2\.7 is outside the networks of BMCs/);
  });

  it('may be for a port', async () => {
    await define(server, {
      port: {
        groups: 'all',
        mgt: 'redfish',
        bmc: services.addresses[0]!,
        bmcport: '444',
        bmcusername: 'a',
        bmcpassword: 'b',
      },
      shared: {
        groups: 'all',
        mgt: 'ipmi',
        bmc: bmcs.addresses[1]!,
        bmcport: '1',
        bmcusername: 'admin',
        bmcpassword: 'secret',
      },
    });
    expect((await power('port')).json.error[0]).toMatch(/^port: nothing listens at 127\.89\.0\.1:444/);
    expect((await power('shared')).json).toEqual({ shared: { power: 'off' } });
  });
});

describe('an address or a port that is none', () => {
  const wrong = ['127.88.0.010', '127.88.1', '2130706433', '0x7f.88.0.1', '256.1.1.1'];

  it.each(['ipmi', 'redfish', 'openbmc'])('is refused when it is written, with mgt=%s', async (mgt) => {
    await define(server, { slip: { groups: 'all', mgt } });
    for (const bmc of wrong) {
      const reply = await server.call('PUT', '/nodes/slip', { body: { bmc } });
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error[0]).toMatch(
        /bmc of slip: ".*" looks like an IPv4 address and is none: .* without leading/,
      );
    }
    await server.ok('PUT', '/nodes/slip', { bmc: 'bmc-7.example' });
  });

  it.each(['redfish', 'openbmc'])('is refused when it is used, with mgt=%s', async (mgt) => {
    const login = { bmcusername: 'admin', bmcpassword: 'secret' };
    await server.ok('PUT', '/groups/padded', { mgt, bmc: '|\\D+(\\d+)|127.89.0.0($1)|', ...login });
    await define(server, { pad1: { groups: 'padded' } });
    const reply = await power('pad1');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/^pad1: its attribute bmc is wrong: "127\.89\.0\.01" is neither an IP address/);
    await server.ok('DELETE', '/nodes/pad1');
    await server.ok('DELETE', '/groups/padded');
  });

  it.each(['abc', '99999'])('is refused when it is written: port %s', async (bmcport) => {
    await define(server, { slip: { groups: 'all', mgt: 'redfish' } });
    const reply = await server.call('PUT', '/nodes/slip', { body: { bmcport } });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/bmcport of slip: "\w+" is neither a network port \(100 to 65535\) nor/);
  });

  it('is refused when it is used: port', async () => {
    const bmc = services.addresses[0]!;
    await server.ok('PUT', '/groups/ported', { mgt: 'redfish', bmc, bmcport: '|\\D+(\\d+)|(65535+$1)|' });
    await define(server, { port1: { groups: 'ported' } });
    const reply = await power('port1');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/^port1: its attribute bmcport, "65536", is neither a network port/);
  });
});

describe(`${fleet} nodes`, () => {
  beforeAll(async () => {
    await server.ok('PUT', '/groups/fleet', {
      mgt: 'ipmi',
      bmc: '|f(\\d+)|127.88.(($1-1)/250).(($1-1)%250+1)|',
      bmcusername: 'admin',
      bmcpassword: 'secret',
    });
    await server.ok('POST', `/nodes/f[1-${fleet}]`, { groups: 'all,fleet' });
  });

  it('are read, switched and read again in one request each', async () => {
    const states = await server.ok('GET', '/nodes/fleet/power');
    expect(Object.keys(states)).toHaveLength(fleet);
    const { lines } = await readStream(server, 'PUT', '/nodes/fleet/power', { action: 'on' });
    expect(lines.at(-1)!.json).toEqual({ summary: { nodes: fleet, ok: fleet, failed: 0, errorcode: 0 } });
    expect(await bmcs.poweredOn()).toBe(fleet);
    expect((await bmcs.state(fleet - 1)).controls).toEqual([1]);
    const merged = await server.ok('GET', '/nodes/fleet/power', undefined, { query: { xcoll: 1 } });
    expect(Object.values(merged)).toEqual([{ power: 'on' }]);
  });
});
