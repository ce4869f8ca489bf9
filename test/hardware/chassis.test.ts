import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { labNode } from './nodes.ts';

let server: TestServer;
let lab: RedfishLab;
let bmcs: BmcLab;
/** The second system in the box of the first BMC, by its host name. */
const twin = 'twin0';

beforeAll(async () => {
  [server, lab, bmcs] = await Promise.all([
    startServer(),
    startRedfish({ count: 2, prefix: '127.215', kinds: ['twin', 'plain'] }),
    startBmcs({ count: 1, prefix: '127.216' }),
  ]);
  const [box, plain] = lab.addresses as [string, string];
  await server.ok('PUT', '/nodes', { p1: labNode('redfish', plain), i1: labNode('ipmi', bmcs.addresses[0]!) });
  await server.ok('PUT', '/nodes', { t1: labNode('redfish', box), [twin]: labNode('redfish', box) });
}, 120_000);
afterAll(() => Promise.all([server?.stop(), lab?.stop(), bmcs?.stop()]));

const power = (range: string, body: object, token?: string) =>
  server.call('PUT', `/nodes/${range}/power`, { body, ...(token === undefined ? {} : { token }) });
const resets = async () => (await lab.state(0)).resets;
const run = (...argv: string[]) => program(muster, argv, environmentFor(server, server.data));

describe('rpower of a chassis', () => {
  it('refuses to switch another node with it, by name, unless forced', async () => {
    for (const action of ['chassison', 'chassisoff', 'chassisreset']) {
      const { status, text } = await power('t1', { action });
      expect([action, status, text]).toEqual([action, 403, expect.stringContaining('also has twin0 in it')]);
    }
    expect(await resets()).toEqual([]);
    expect((await run('rpower', 't1', 'chassisoff', '--yes')).stderr).toContain('also has twin0 in it');
    expect((await run('rpower', 't1', 'chassison', '--force')).stdout).toMatch(/^t1: chassis Box-\w+ on\n$/);
    expect((await run('rpower', 't1', 'chassisstat')).stdout).toMatch(/^t1: chassis Box-\w+ on\n$/);
    expect((await power('t1', { action: 'chassisoff', force: true })).status).toBe(200);
    expect(await resets()).toEqual(['On', 'ForceOff']);
    expect((await power(`t1,${twin}`, { action: 'chassisreset', force: true })).text).toContain('name one of them');
  });

  it('needs a right to every node in it', async () => {
    const token = await addUser(server, 'cora');
    await server.ok('PUT', '/policy/7', { name: 'cora', commands: 'rpower', noderange: 't1', rule: 'allow' });
    const { status, text } = await power('t1', { action: 'chassisoff', force: true }, token);
    expect([status, text]).toEqual([403, expect.stringContaining('may not switch')]);
    await server.ok('PUT', '/policy/7', { noderange: `t1,${twin}` });
    expect((await power('t1', { action: 'chassisoff', force: true }, token)).status).toBe(200);
    // Without its node nobody can know whose machine it is.
    await server.ok('DELETE', `/nodes/${twin}`);
    await server.ok('PUT', '/policy/7', { noderange: 't1' });
    expect((await power('t1', { action: 'chassisoff', force: true }, token)).text).toContain('may not switch');
    expect((await power('t1', { action: 'chassisoff' })).text).toMatch(/also has machine Node-\w+-b in it/);
  });

  it('refuses hardware that has none', async () => {
    expect((await power('i1', { action: 'chassisoff' })).text).toContain('knows of no chassis');
    expect((await power('p1', { action: 'chassisstat' })).text).toContain('no chassis, slot or sled');
    expect((await power('p1', { action: 'chassisstat', force: true })).text).toContain('force is for');
  });
});
