import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runHere } from '../cli/replay/run.ts';
import { define, labNode, labNodes } from '../hardware/nodes.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser, logIn } from '../harness/users.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';

let server: TestServer;
let lab: LightLab;
const data = temporaryDirectory();

beforeAll(async () => {
  lab = await startLightBmcs({ count: 4, prefix: '127.64' });
  server = await startServer({ data, config: '[series]\nnodes = "always"\nseconds = 60\n' });
  await define(server, labNodes('n', 'ipmi', lab.addresses));
  await define(server, { silent: labNode('ipmi', '127.64.99.99'), bare: { groups: 'all' } });
}, 60_000);
afterAll(async () => {
  await Promise.all([server?.stop(), lab?.stop()]);
  rmSync(data, { recursive: true, force: true });
});

interface Shown {
  readonly node: string;
  readonly time: string;
  readonly problem?: string;
  readonly times?: readonly string[];
  readonly sensors: Record<string, { kind: string; unit: string; value: number; values?: (number | null)[] }>;
}
const read = async (path: string): Promise<Shown[]> => (await server.ok('GET', `/nodes/${path}`)).series;
const refused = async (path: string): Promise<string> => {
  const { status, json } = await server.call('GET', `/nodes/${path}`);
  expect([400, 403]).toContain(status);
  return json.error[0] as string;
};
const waitFor = <T>(find: () => Promise<T | undefined>): Promise<T> =>
  vi.waitUntil(find, { timeout: 60_000, interval: 100 });
const values = ({ sensors }: Shown): object =>
  Object.fromEntries(Object.entries(sensors).map(([label, { kind, unit, value }]) => [label, [kind, unit, value]]));

const ofSecond = {
  'Inlet Temp': ['temp', 'C', 21],
  'CPU1 Temp': ['temp', 'C', 41],
  Fan1: ['fanspeed', 'RPM', 6060],
  Fan2: ['fanspeed', 'RPM', 6120],
  'Sys Power': ['wattage', 'Watts', 164],
};

describe('series', () => {
  it('know nothing of nodes that nobody has read', async () => {
    expect(await read('n1-n4/series')).toEqual([]);
  });

  it('have what somebody reads with rvitals, as far as it is a temperature, a power draw or a fan', async () => {
    await server.ok('GET', '/nodes/n1,n2/vitals');
    const [first, second, ...more] = await read('n1-n4/series');
    expect([first!.node, second!.node, more]).toEqual(['n1', 'n2', []]);
    expect(values(second!)).toEqual(ofSecond);
    expect(second!.times).toHaveLength(1);
    expect(Object.values(second!.sensors).map((sensor) => sensor.values)).toEqual(
      Object.values(ofSecond).map(([, , value]) => [value]),
    );
  });

  it('show only some kinds, the last values, or the hottest temperature', async () => {
    const [kind] = await read('n2/series?kinds=wattage');
    expect(values(kind!)).toEqual({ 'Sys Power': ofSecond['Sys Power'] });
    const [last] = await read('n2/series?show=last');
    expect([last!.times, values(last!), last!.sensors['Fan1']!.values]).toEqual([undefined, ofSecond, undefined]);
    const hottest = await read('n1-n4/series?show=hottest');
    expect(hottest.map((each) => [each.node, values(each)])).toEqual([
      ['n1', { 'CPU1 Temp': ['temp', 'C', 40] }],
      ['n2', { 'CPU1 Temp': ofSecond['CPU1 Temp'] }],
    ]);
    expect(await read('n2/series?since=2026-01-01T00:00:00Z')).toEqual(await read('n2/series?since=6h'));
    const [later] = await read('n2/series?since=2999-01-01T00:00:00Z');
    expect([later!.times, later!.sensors['Fan1']!.values]).toEqual([[], []]);
  });

  it('refuse what they do not know, with a sentence', async () => {
    expect(await refused('n1/series?kinds=temp,hum')).toContain('"hum" is not a kind of series');
    expect(await refused('n1/series?kinds=voltage')).toContain('use all, temp, wattage, fanspeed');
    expect(await refused('n1/series?show=all')).toContain('show: "all" is none of points, last, hottest');
    expect(await refused('n1/series?since=yesterday')).toContain('"yesterday" is not a time');
    expect(await refused('n1/series?since=1h&show=last')).toContain('leave one of the two out');
    expect(await refused('n1/series?sample=yes')).toContain('the only value is 1');
    expect(await refused('n1/series?samples=1')).toContain('samples');
    expect((await server.call('GET', '/nodes/nobody/series')).status).toBe(404);
    expect((await server.call('GET', '/nodes/n1/series', { root: '/xcatws' })).status).toBe(404);
  });

  it('are read while somebody looks, and say why a node cannot be read', async () => {
    await read('n3,silent,bare/series?sample=1');
    const third = await waitFor(async () => (await read('n3/series'))[0]);
    expect(values(third)).toMatchObject({ 'CPU1 Temp': ['temp', 'C', 42] });
    expect(third.sensors).toMatchObject({
      'CPU1 Temp': { limits: { upperWarning: 90, upperCritical: 95, lowerWarning: 5, lowerCritical: 2 } },
      Fan1: { limits: { upperWarning: 13_800, lowerCritical: 900 } },
    });
    const bare = await waitFor(async () => (await read('bare/series'))[0]);
    expect(bare).toEqual({ node: 'bare', problem: expect.stringContaining('mgt is not set'), sensors: {} });
    const silent = await waitFor(async () => (await read('silent/series'))[0]);
    expect(silent.problem).not.toBe('');
  }, 90_000);

  it('are of all nodes that the setting names, from when they are', async () => {
    await server.ok('POST', '/groups/always', { members: 'n4' });
    const fourth = await waitFor(async () => (await read('n4/series'))[0]);
    expect(values(fourth)).toMatchObject({ 'CPU1 Temp': ['temp', 'C', 43] });
  }, 90_000);

  it('are bounded in one reply', async () => {
    await server.ok('POST', '/nodes/x1-x501', { groups: 'many' });
    expect(await refused('many/series')).toContain('Series of 501 nodes are too long for one reply');
    expect(await refused('many/series?show=last&sample=1')).toContain('sample=1 is for at most 500 nodes');
    expect(await read('many/series?show=hottest')).toEqual([]);
  });

  it('are shown to nobody who may not read the sensors', async () => {
    const as = async (name: string, path: string) => {
      const { status, json } = await server.call('GET', `/nodes/${path}`, { token: await logIn(server, name) });
      return [status, status === 200 ? json.series.map(({ node }: Shown) => node) : json.error[0]];
    };
    for (const name of ['reader', 'cool', 'lister']) await addUser(server, name);
    const rule = { noderange: 'n1,n3', rule: 'allow' };
    await server.ok('PUT', '/policy/8.1', { ...rule, name: 'reader', commands: 'rvitals' });
    await server.ok('PUT', '/policy/8.2', { ...rule, name: 'cool', commands: 'rvitals', parameters: 'temp' });
    await server.ok('PUT', '/policy/8.3', { ...rule, name: 'lister', commands: 'lsdef,nodels,rpower,renergy' });
    expect(await as('reader', 'n1,n3/series')).toEqual([200, ['n1', 'n3']]);
    expect(await as('reader', 'n1,n2/series')).toEqual([403, expect.stringContaining('may not run rvitals on n2')]);
    expect(await as('cool', 'n1/series?kinds=temp')).toEqual([200, ['n1']]);
    expect(await as('cool', 'n1/series')).toEqual([403, expect.stringContaining('may not run rvitals')]);
    expect(await as('lister', 'n1/series')).toEqual([403, expect.stringContaining('may not run rvitals')]);
    expect(await as('lister', 'nobody/series')).toEqual([403, expect.stringContaining('may not run rvitals')]);
  });

  it('are printed by muster series', async () => {
    const env = { HOME: data, MUSTER_SOCKET: join(data, 'muster.sock') };
    const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
    const shown = await run('series', 'n2', 'temp', '--since', '6h');
    expect([shown.code, shown.stderr]).toEqual([0, '']);
    expect(shown.stdout).toMatch(/^n2: CPU1 Temp: 41 C at \S+; 41 to 41 C since \S+$/m);
    expect(shown.stdout).not.toContain('Fan1');
    const json = await run('series', 'n2', 'wattage', '--format', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject([{ node: 'n2', sensor: 'Sys Power', value: 164, highest: 164 }]);
    const none = await run('series', 'x1');
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('Nothing is known of these nodes yet')]);
    expect((await run('series', 'n2', 'humidity')).stderr).toContain('"humidity" is not a kind of series');
  });

  it('go with their node', async () => {
    await server.ok('DELETE', '/nodes/n2');
    await server.ok('POST', '/nodes/n2', { groups: 'all' });
    expect(await read('n2/series')).toEqual([]);
  });
});
