import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { outside } from '../harness/raw-sqlite.ts';
import { join } from 'node:path';
import { removeDirectory } from '../process/process.ts';

let server: TestServer;
const data = temporaryDirectory();
const start = async () => {
  server = await startServer({ data });
};
beforeAll(async () => {
  await start();
  await server.ok('POST', '/nodes/n[1-300]', { groups: 'all,compute' });
  await server.ok('POST', '/nodes/login', { groups: 'all' });
});
afterAll(async () => {
  await server.stop();
  removeDirectory(data);
});

const refused = async (path: string, body: unknown, root = '/muster'): Promise<string> => {
  const reply = await server.call('PUT', path, { root, body });
  expect([path, reply.status, reply.json?.errorcode]).toEqual([path, 403, 1]);
  return reply.json.error[0];
};

describe('a pattern that is written', () => {
  it.each(['/muster', '/xcatws'])('must be one that can be computed, at %s', async (root) => {
    expect(await refused('/groups/compute', { mgt: 'ipmi', bmc: '|n(\\d+|10.1.0.($1)|' }, root)).toBe(
      'ipmi.bmc of compute: "|n(\\d+|10.1.0.($1)|": "n(\\d+" is not a regular expression that can be matched.',
    );
    expect(await refused('/nodes/n1', { mgt: 'ipmi', bmc: '|n(\\d+)|10.1.0.($1+)|' }, root)).toBe(
      'ipmi.bmc of n1: "|n(\\d+)|10.1.0.($1+)|": "($1+)" is not an expression that can be computed.',
    );
    expect(await refused('/tables/noderes/nodes/n1', { noderes: { xcatmaster: '|n(|x|' } }, root)).toContain(
      'noderes.xcatmaster of n1',
    );
    expect(await refused('/nodes/n1', { 'nicips.eth1': '|n(|x|' }, root)).toContain('nics.nicips of n1');
    expect(await server.ok('GET', '/nodes/n1')).toEqual({ n1: { groups: 'all,compute' } });
  });

  it('must have both its bars', async () => {
    expect(await refused('/nodes/n1', { ip: '|n(\\d+)|10.1.0.($1)' })).toContain('is not an IP address');
  });

  it('must give every node that exists a value that may be written; the first that gets none is named', async () => {
    expect(await refused('/groups/compute', { ip: '|n(\\d+)|10.2.0.($1)|' })).toBe(
      'hosts.ip of compute: "|n(\\d+)|10.2.0.($1)|" is wrong for node n256: "10.2.0.256" is not an IP address.',
    );
    expect(await refused('/nodes/n1', { mgt: 'ipmi', bmc: '|10.2.0.(998+$1)|' })).toContain('for node n1');
    await server.ok('PUT', '/groups/compute', { ip: '|n(\\d+)|10.2.($1/200).($1%200+1)|' });
    expect(await server.ok('GET', '/nodes/n256/attrs/ip')).toEqual({ n256: { ip: '10.2.1.57' } });
  });

  it('is no matter to nodes that have a value of their own', async () => {
    await server.ok('PUT', '/nodes/login', { ip: '10.9.9.9' });
    await server.ok('PUT', '/groups/all', { ip: '|n(\\d+)|10.3.($1/200).($1%200+1)|' });
    expect(await server.ok('GET', '/nodes/login/attrs/ip')).toEqual({ login: { ip: '10.9.9.9' } });
  });
});

it('a broken pattern that was stored before is noticed when it is used', async () => {
  await server.ok('PUT', '/nodes/n2', { mgt: 'ipmi', bmc: '127.0.0.1', bmcusername: 'a', bmcpassword: 'b' });
  await server.stop();
  outside(join(data, 'muster.sqlite'), (database) =>
    database.exec("update ipmi set bmc = '|n(|10.1.0.1|' where node = 'n2'"),
  );
  await start();
  const reply = await server.call('GET', '/nodes/n2/power');
  expect(reply.json.error[0]).toContain('n2: its attribute bmc comes from the pattern "|n(|10.1.0.1|"');
});
