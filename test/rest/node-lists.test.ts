import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, logIn } from '../harness/users.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n12', { groups: 'all' });
  await server.ok('PUT', '/nodes/n1-n4', { rack: 'r2' });
  await server.ok('PUT', '/nodes/n5-n10', { rack: 'r10' });
  await server.ok('PUT', '/nodes/n12', { mgt: 'ipmi', bmcpassword: 'hidden-away', usercomment: '__proto__' });
});
afterAll(() => server.stop());

const names = async (path: string): Promise<string[]> =>
  (await server.ok('GET', `/nodes/${path}`)).nodes.map(({ node }: { node: string }) => node);
const refused = async (path: string): Promise<string> => {
  const { status, json } = await server.call('GET', `/nodes/${path}`);
  expect(status).toBeGreaterThanOrEqual(400);
  return json.error[0] as string;
};

describe('a part of a list of nodes', () => {
  it('has so many nodes from an offset on, and says how many there are', async () => {
    const part = await server.ok('GET', '/nodes/n1-n10/list/rack,groups?sort=node&offset=3&limit=2');
    expect(part).toEqual({
      count: 10,
      offset: 3,
      nodes: [
        { node: 'n4', rack: 'r2', groups: 'all' },
        { node: 'n5', rack: 'r10', groups: 'all' },
      ],
    });
    expect(await names('n1-n10/list/rack?offset=10')).toEqual([]);
    expect((await server.ok('GET', '/nodes/ALLRESOURCES/list/rack')).count).toBe(12);
  });

  it('is sorted by name or attribute, with numbers as numbers, whatever the order of the range', async () => {
    expect(await names('ALLRESOURCES/list/rack?sort=node&limit=3')).toEqual(['n1', 'n2', 'n3']);
    expect(await names('all/list/rack?sort=-node&limit=2')).toEqual(['n12', 'n11']);
    const up = await names('n1,n11,n5,n6/list/groups?sort=rack');
    expect([up[0], up[1], new Set(up.slice(2))]).toEqual(['n11', 'n1', new Set(['n5', 'n6'])]);
    expect(await names('n1,n11,n5/list/groups?sort=-rack')).toEqual(['n5', 'n1', 'n11']);
  });

  it('refuses what it does not know', async () => {
    expect(await refused('all/list/rak')).toContain('rak');
    expect(await refused('all/list/rack?sort=colour')).toContain('colour');
    expect(await refused('all/list/rack?sort=-')).toBe('sort: name an attribute, or node.');
    expect(await refused('all/list/rack?limit=0')).toContain('limit: give a number from 1 to 10000, not "0"');
    expect(await refused('all/list/rack?offset=-1')).toContain('offset: give a number');
    expect(await refused('all/list/rack?page=2')).toContain('page');
    expect((await server.call('GET', '/nodes/nobody/list/rack')).status).toBe(404);
    expect((await server.call('GET', '/nodes/all/list/rack', { root: '/xcatws' })).status).toBe(404);
  });

  it('shows no secrets, and does not sort by them', async () => {
    await server.ok('PUT', '/nodes/n11', { mgt: 'ipmi', bmcpassword: 'another' });
    const { nodes } = await server.ok('GET', '/nodes/n11,n12/list/bmcpassword?sort=bmcpassword');
    expect(nodes).toEqual([
      { node: 'n11', bmcpassword: '********' },
      { node: 'n12', bmcpassword: '********' },
    ]);
  });
});

describe('counts of nodes', () => {
  it('say how many have each value, the most first', async () => {
    expect(await server.ok('GET', '/nodes/n1-n11/counts/rack,groups')).toEqual({
      count: 11,
      counts: {
        rack: {
          values: [
            { value: 'r10', count: 6 },
            { value: 'r2', count: 4 },
            { value: '', count: 1 },
          ],
          others: 0,
        },
        groups: { values: [{ value: 'all', count: 11 }], others: 0 },
      },
    });
    const { counts } = await server.ok('GET', '/nodes/n12/counts/usercomment');
    expect(counts.usercomment.values).toEqual([{ value: '__proto__', count: 1 }]);
    expect(await refused('all/counts/rak')).toContain('rak');
  });

  it('have at most 1000 values', async () => {
    await server.ok('POST', '/nodes/x1-x1100', { groups: 'many' });
    const each = Object.fromEntries(Array.from({ length: 1_100 }, (_, i) => [`x${i + 1}`, { serial: `S${i + 1}` }]));
    await server.ok('PUT', '/nodes', each);
    const { count, counts } = await server.ok('GET', '/nodes/many/counts/serial');
    expect([count, counts.serial.values.length, counts.serial.others]).toEqual([1_100, 1_000, 100]);
  });
});

it('are for those who may list the nodes', async () => {
  await addUser(server, 'limited');
  await server.ok('PUT', '/policy/8', { name: 'limited', commands: 'lsdef', noderange: 'n1,n2', rule: 'allow' });
  const token = await logIn(server, 'limited');
  const as = async (path: string) => (await server.call('GET', `/nodes/${path}`, { token })).status;
  expect(await as('n1,n2/list/rack')).toBe(200);
  expect(await as('n1,n2/counts/rack')).toBe(200);
  expect([await as('n1,n3/list/rack'), await as('ALLRESOURCES/counts/rack'), await as('nobody/counts/rack')]).toEqual([
    403, 403, 403,
  ]);
});

it('are sorted only by what the caller may read', async () => {
  await addUser(server, 'racks');
  const rule = { name: 'racks', commands: 'lsdef', noderange: 'n1-n12', parameters: '-i rack$', rule: 'allow' };
  await server.ok('PUT', '/policy/9', rule);
  const token = await logIn(server, 'racks');
  const as = async (query: string) => (await server.call('GET', `/nodes/n1-n12/list/rack${query}`, { token })).status;
  expect([await as(''), await as('?sort=-rack'), await as('?sort=node')]).toEqual([200, 200, 200]);
  expect([await as('?sort=usercomment'), await as('?sort=-bmcusername')]).toEqual([403, 403]);
});
