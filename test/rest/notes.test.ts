import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1,n2', { groups: 'all,compute' });
  await server.ok('PUT', '/nodes/n1', { ip: '10.0.0.1' });
  await server.ok('POST', '/osimages/img1', { imagetype: 'linux', provmethod: 'install' });
});
afterAll(() => server.stop());

const image = { provmethod: 'install', osvers: 'debian12' };
const rows = '/tables/passwd/rows/key=xcat,username=u';

describe.each(['/muster', '/xcatws'])('what looks wrong is taken and told at %s:', (root) => {
  it.each([
    [
      'a driver that is not there',
      'PUT',
      '/nodes/n1',
      { mgt: 'ipmmi' },
      /mgt of n1 is "ipmmi".* Did you mean "ipmi"\?/,
    ],
    ['a type of image', 'PUT', '/osimages/img1', { imagetype: 'lnux' }, /imagetype of img1 is "lnux".* "linux"\?/],
    ['an image that is not there', 'PUT', '/nodes/n2', { provmethod: 'img2' }, /provmethod of n2 is "img2".* "img1"\?/],
    [
      'an attribute of the site',
      'PUT',
      '/globalconf/attrs/domian',
      { domian: 'a.b' },
      /"domian" is not a known.* "domain"\?/,
    ],
    [
      'an address that another has',
      'PUT',
      '/nodes/n2',
      { ip: '10.0.0.1' },
      /The address 10\.0\.0\.1 of n2 is that of n1 too/,
    ],
    ['a group called as a node', 'PUT', '/groups/n1', { members: 'n2' }, /n1.* is the name of a node too/],
    [
      'a node called as a group',
      'PUT',
      '/tables/nodelist/rows/node=compute',
      { groups: 'all' },
      /compute is the name of a group too/,
    ],
    ['a password that anybody guesses', 'PUT', rows, { password: 'x' }, /fewer than 8 characters/],
  ])('%s', async (_what, method, path, body, note) => {
    const reply = await server.call(method, path, { root, body });
    expect([path, reply.status]).toEqual([path, 200]);
    expect(reply.headers['x-muster-note']).toMatch(note);
    const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(run.notes[0]).toMatch(note);
    await tidy();
  });

  it('an image that nodes are to have is removed', async () => {
    await server.ok('POST', '/osimages/old', image);
    await server.ok('PUT', '/nodes/n2', { provmethod: 'old' });
    const reply = await server.call('DELETE', '/osimages/old', { root });
    expect(reply.headers['x-muster-note']).toBe('The image old is gone, and provmethod of n2 still names it.');
    await tidy();
  });

  it('nothing is told of what is as it should be', async () => {
    const reply = await server.call('PUT', '/nodes/n1', { root, body: { mgt: 'redfish', provmethod: 'img1' } });
    expect([reply.status, reply.headers['x-muster-note']]).toEqual([200, undefined]);
    await tidy();
  });
});

async function tidy(): Promise<void> {
  await server.ok('PUT', '/nodes/n1,n2', { mgt: '', provmethod: '', groups: 'all,compute' });
  await server.ok('PUT', '/nodes/n2', { ip: '' });
  await server.ok('PUT', '/osimages/img1', { imagetype: 'linux' });
  await server.call('DELETE', '/tables/nodelist/rows/node=compute');
  await server.call('DELETE', '/tables/nodegroup/rows/groupname=n1');
  await server.call('DELETE', '/globalconf/attrs/domian');
  await server.call('DELETE', rows);
}

it('a group with members is removed, which is told', async () => {
  await server.ok('PUT', '/groups/gone', { members: 'n1,n2' });
  const reply = await server.call('DELETE', '/groups/gone');
  expect([reply.status, reply.headers['x-muster-note']]).toEqual([200, 'The group gone is gone; it had 2 members.']);
  expect((await server.ok('GET', '/nodes/n1')).n1.groups).not.toContain('gone');
  // Also one that nobody has defined and members name.
  await server.ok('POST', '/nodes/w1', { groups: 'all,word' });
  expect((await server.call('DELETE', '/groups/word')).headers['x-muster-note']).toBe(
    'The group word is gone; it had 1 member.',
  );
});

it('what attributes mean is told, by type and by table, and a slip is answered with what may be meant', async () => {
  const { node } = await server.ok('GET', '/attributes/node');
  expect(node.rack).toEqual({
    meaning: 'rack that holds it',
    type: 'text',
    stored: ['nodepos.rack'],
    readBy: expect.any(String),
  });
  expect((await server.ok('GET', '/attributes')).site.domain.readBy).toContain('makedns');
  expect(Object.keys(await server.ok('GET', '/attributes/tables.nodelist'))).toEqual(['tables.nodelist']);
  const reply = await server.call('GET', '/attributes/nod');
  expect([reply.status, reply.json.error[0]]).toEqual([404, expect.stringContaining('Did you mean "node"?')]);
});

it('a try without effect tells it too', async () => {
  const reply = await server.call('PUT', '/nodes/n1?dryRun=1', { body: { mgt: 'ipmmi' } });
  expect(reply.headers['x-muster-note']).toContain('ipmmi');
});

it.each([
  ['PUT', '/nodes/n1', { rak: 'r1' }, '"rak" is not an attribute of a node. Did you mean "rack"?'],
  ['GET', '/tables/nodelst/rows', undefined, 'There is no table named "nodelst". Did you mean "nodelist"?'],
  ['PUT', '/nodes/n1/power', { action: 'rest' }, 'Did you mean "reset"?'],
  ['PUT', '/nodes/n1/power', { acton: 'on' }, 'Did you mean "action"?'],
])('a slip in %s %s is answered with what may be meant', async (method, path, body, expected) => {
  const reply = await server.call(method, path, body === undefined ? {} : { body });
  expect(reply.json.error.join(' ')).toContain(expected);
});

describe('a member that is named twice', () => {
  const long = `{"n1":{"rack":"r1"},${' '.repeat(70_000)}"n2":{"usercomment":"x"}`;
  const bodies = [
    ['/nodes/n1', '{"rack":"r1","unit":"1","rack":"r2"}'],
    ['/nodes/n1', '{"rack":"r1","options":{"-p":"","-p":""}}'],
    ['/nodes', `${long},"n1":{"rack":"r2"}}`],
    ['/nodes', `${long},"n3":{"rack":"r2","rack":"r3"}}`],
  ] as const;
  it.each(bodies)('is refused in %s %.40s', async (path, body) => {
    const reply = await server.call('PUT', path, { body });
    expect([reply.status, reply.json.error]).toEqual([400, [expect.stringContaining('names a member twice')]]);
  });

  it('counts as the reference system lets it count at /xcatws, and what only looks so is no matter', async () => {
    const [path, body] = bodies[0];
    expect((await server.call('PUT', path, { root: '/xcatws', body })).status).toBe(200);
    expect(await server.ok('GET', '/nodes/n1/attrs/rack')).toEqual({ n1: { rack: 'r2' } });
    for (const plain of [
      '{"rack":"a,b,{,}","groups":["all","compute"],"options":{}}',
      '{"rack":"","usercomment":"\\",\\"rack\\":"}',
      '{}',
    ])
      expect((await server.call('PUT', path, { body: plain })).status).toBe(200);
    expect((await server.call('PUT', '/nodes', { body: `${long}}` })).status).toBe(200);
  });
});

it('what a restore leaves empty is said before what else looks wrong', async () => {
  const mac = '02:00:00:00:00:77';
  await server.ok('POST', '/nodes/kept', { groups: 'all', mac });
  const body = {
    nodelist: [...(await server.ok('GET', '/tables/nodelist/rows')).nodelist, { node: 'taker', groups: 'all' }],
    mac: [
      { node: 'kept', mac },
      { node: 'taker', mac },
    ],
    ipmi: [{ node: 'kept', password: '********' }],
  };
  const reply = await server.call('PUT', '/tables/ipmi,mac,nodelist/dump?secrets=leave', { body });
  expect([reply.status, reply.headers['x-muster-contested']]).toEqual([200, 'yes']);
  expect(reply.headers['x-muster-note']).toMatch(/^The dump hides these secrets.* \(\d more in the run\)$/);
});
