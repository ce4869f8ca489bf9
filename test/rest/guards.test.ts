import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n[1-3]', { groups: 'all,compute' });
});
afterAll(() => server.stop());

describe('a dry run', () => {
  it.each(['dry.run', 'dryRun[]', 'DRYRUN', 'dry_run', 'dry-run'])(
    'spelled %s does nothing at either root',
    async (name) => {
      for (const root of ['/muster', '/xcatws']) {
        const reply = await server.call('PUT', '/nodes/n1', { root, query: { [name]: 1 }, body: { arch: 'x' } });
        expect(reply.status).toBe(403);
      }
      expect(await server.ok('GET', '/nodes/n1/attrs/arch')).toEqual({ n1: { arch: '' } });
    },
  );

  it('is told apart from the real thing in the audit log', async () => {
    await server.call('DELETE', '/nodes/n1', { query: { dryRun: 1 } });
    const { auditlog } = await server.ok('GET', '/tables/auditlog/rows/command=rmdef');
    expect(auditlog.at(-1)).toMatchObject({ noderange: 'n1', status: 'Allowed (dry run)' });
  });
});

describe('a bulk PUT', () => {
  it('takes objects named like a common parameter', async () => {
    await server.ok('POST', '/groups/debug', { members: 'n1' });
    const groups = await server.ok('GET', '/groups/ALLRESOURCES');
    await server.ok('PUT', '/groups', groups);
    await server.ok('PUT', '/nodes', { pretty: { groups: 'all' }, 'dry-run': { groups: 'all' } });
    expect(await server.ok('GET', '/nodes/pretty,dry-run/attrs/groups')).toEqual({
      pretty: { groups: 'all' },
      'dry-run': { groups: 'all' },
    });
  });

  it('makes nothing new when the caller counts on what exists', async () => {
    const body = { n1: { arch: 'x86_64' }, b3: { groups: 'x' } };
    const reply = await server.call('PUT', '/nodes', { headers: { 'X-Expect-Nodes': '1' }, body });
    expect(reply.status).toBe(404);
    expect((await server.call('GET', '/nodes/b3')).status).toBe(404);
  });
});

it('a network keeps its net and mask', async () => {
  await server.ok('POST', '/networks/keeps', { net: '10.9.0.0', mask: '255.255.0.0' });
  expect((await server.call('PUT', '/networks/keeps', { body: { net: '' } })).status).toBe(403);
  expect(await server.ok('GET', '/networks/keeps')).toEqual({ keeps: { net: '10.9.0.0', mask: '255.255.0.0' } });
});

describe('a node made after another', () => {
  beforeAll(async () => {
    await server.ok('PUT', '/groups/compute', { mgt: 'ipmi', bmc: '|n(\\d+)|127.10.0.($1)|' });
    await server.ok('PUT', '/nodes/n2', { rack: 'r7', bmcpassword: 'own' });
  });

  it('gets what the other has itself, and from the groups its own', async () => {
    await server.ok('POST', '/nodes/n9', { options: { '--template': 'n2' }, bmcpassword: '' });
    expect(await server.ok('GET', '/nodes/n9/attrs/rack,bmc,groups,bmcpassword')).toEqual({
      n9: { rack: 'r7', bmc: '127.10.0.9', groups: 'all,compute', bmcpassword: '' },
    });
  });

  it('is not given a secret silently: it must be named', async () => {
    const reply = await server.call('POST', '/nodes/n8', { body: { options: { '--template': 'n2' } } });
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringContaining('bmcpassword must be given')]);
  });
});

it('options that exclude each other are refused', async () => {
  const body = { groups: 'x', options: { '-p': '', '-m': '' } };
  expect((await server.call('PUT', '/nodes/n1', { body })).status).toBe(403);
});

it('an error tells its run and the revision; a method that needs a token tells the others', async () => {
  const reply = await server.call('GET', '/nodes/nosuch');
  expect(reply.headers['x-muster-revision']).toMatch(/^\d+$/);
  const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
  expect(run).toMatchObject({ command: 'lsdef', errorcode: 1, state: 'finished' });
  const login = { userName: 'root', userPW: rootPassword };
  const refused = await server.call('DELETE', '/tokens', { token: null, query: login });
  expect([refused.status, refused.headers['allow']]).toEqual([405, 'POST, GET']);
});
