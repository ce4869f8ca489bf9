import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, defineNodes, logIn } from '../harness/users.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await defineNodes(server, 'n1-n3');
});
afterAll(() => server.stop());
const lab = { routename: 'lab', net: '10.9.0.0' };
beforeEach(() => server.ok('PUT', '/tables/routes/dump', { routes: [lab, { routename: 'old', net: '10.8.0.0' }] }));

const rows = async (table = 'routes') => (await server.ok('GET', `/tables/${table}/dump`))[table].rows;
const write = (body: object, table = 'routes', token = server.token) =>
  server.call('PUT', `/tables/${table}/rows`, { body, token });
const row = (name: string, columns: object) => ({ keys: { routename: name }, columns });

it('changes, makes and removes rows in one change', async () => {
  const { headers } = await write({
    set: [row('lab', { gateway: '10.9.0.1', net: '' }), row('new,er', { net: '10.7.0.0' })],
    remove: [{ routename: 'old' }],
  });
  expect(await rows()).toEqual([
    { routename: 'lab', gateway: '10.9.0.1' },
    { routename: 'new,er', net: '10.7.0.0' },
  ]);
  const path = `/changes/${String(headers['x-muster-revision'])}`;
  const change = await server.ok('GET', path);
  expect(change.rows).toBe(3);
  await server.ok('POST', `${path}/revert`);
  expect(await rows()).toContainEqual(lab);
});

it.each([
  [{}, 'Give rows to set, or rows to remove.'],
  [{ remove: [{ net: '10.8.0.0' }] }, 'Name each row of table "routes" by routename, and nothing else.'],
  [{ remove: [{ routename: '' }] }, 'Name each row of table "routes" by routename, and nothing else.'],
  [{ set: [row('lab', { routename: 'x' })] }, 'routes.routename names the row and stays'],
  [{ set: [row('lab', { colour: 'x' })] }, 'colour'],
  [{ set: [{ routename: 'lab' }] }, 'set/0/routename is not a known member; known there are keys, columns.'],
  [{ set: [row('lab', {}), row('lab', {})] }, 'The row routename=lab is given twice.'],
  [{ set: [row('old', {})], remove: [{ routename: 'old' }] }, 'The row routename=old is given twice.'],
  [{ set: [row('new', { net: '10.7.0.0' }), row('lab', { net: 'no net' })] }, 'net'],
])('refuses %j as a whole', async (body, sentence) => {
  const before = await rows();
  const reply = await write(body);
  expect([reply.status >= 400, reply.json.error.join(' ')]).toEqual([true, expect.stringContaining(sentence)]);
  expect(await rows()).toEqual(before);
});

it('changes nothing if one of the rows has changed since they were read, also if it is new or gone', async () => {
  const since = Number((await server.call('GET', '/tables/routes/dump')).headers['x-muster-revision']);
  await server.ok('PUT', '/tables/routes/rows/routename=new', { net: '10.7.0.0' });
  await server.ok('DELETE', '/tables/routes/rows/routename=old');
  for (const body of [{ set: [row('new', { net: '10.6.0.0' })] }, { set: [row('old', { mask: '255.0.0.0' })] }]) {
    const reply = await write({ ...body, since });
    expect([reply.status, reply.json.error[0]]).toEqual([412, expect.stringContaining('changed since revision')]);
  }
  expect((await write({ remove: [{ routename: 'old' }], since })).status).toBe(412);
  // Others are not concerned.
  expect((await write({ set: [row('lab', { mask: '255.255.0.0' })], since })).status).toBe(200);
  // What becomes known by itself is no change.
  const { headers } = await server.call('GET', '/tables/nodelist/dump');
  await server.ok('PUT', '/tables/nodelist/rows/node=n1', { status: 'booted' });
  const set = [{ keys: { node: 'n1' }, columns: { comments: 'x' } }];
  expect((await write({ set, since: Number(headers['x-muster-revision']) }, 'nodelist')).status).toBe(200);
  expect(await rows('nodelist')).toContainEqual({ node: 'n1', groups: 'all', status: 'booted', comments: 'x' });
});

it('keeps secrets that are given as they are shown, and stores those of accounts as hashes', async () => {
  const token = await addUser(server, 'kept');
  const keys = { key: 'xcat', username: 'kept' };
  await write({ set: [{ keys, columns: { password: '********', comments: 'x' } }] }, 'passwd');
  expect((await server.call('GET', '/session/nodes', { token })).status).toBe(200);
  await write({ set: [{ keys, columns: { password: 'another-password' } }] }, 'passwd');
  expect((await server.call('GET', '/session/nodes', { token })).status).toBe(401);
  await logIn(server, 'kept', 'another-password');
});

it('asks the policy for every row, and for removals apart', async () => {
  const token = await addUser(server, 'clerk');
  await server.ok('PUT', '/policy/7', { name: 'clerk', commands: 'setAttribs', parameters: '^routes ', rule: 'allow' });
  expect((await write({ set: [row('lab', { mask: '255.0.0.0' })] }, 'routes', token)).status).toBe(200);
  const refused = await write({ remove: [{ routename: 'lab' }] }, 'routes', token);
  expect([refused.status, refused.json.error[0]]).toEqual([403, expect.stringContaining('delEntries')]);
  const other = await write({ set: [{ keys: { key: 'x' }, columns: { value: 'y' } }] }, 'site', token);
  expect(other.status).toBe(403);
  // As for other requests for rows: a rule for some nodes covers those that name nodes.
  await server.ok('PUT', '/policy/7', { commands: 'tabch', parameters: '', noderange: 'n1' });
  const set = [{ keys: { node: 'n1' }, columns: { comments: 'mine' } }];
  expect((await write({ set }, 'nodepos', token)).status).toBe(403);
});
