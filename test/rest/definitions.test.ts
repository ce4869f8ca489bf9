import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Rows, resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const empty: Rows = {
  passwd: [{ key: 'xcat', username: 'root' }],
  policy: [{ priority: '1', name: 'root', rule: 'allow' }],
};
beforeEach(() => resetTo(server, empty));

const revision = async (): Promise<number> => Number((await server.call('GET', '/nodes')).headers['x-muster-revision']);

/** The status of a request, and what the nodes look like afterwards. */
const refused = async (method: string, path: string, body?: object): Promise<number> => {
  const before = await server.ok('GET', '/nodes/ALLRESOURCES');
  const at = await revision();
  const reply = await server.call(method, path, body ? { body } : {});
  expect(await server.ok('GET', '/nodes/ALLRESOURCES')).toEqual(before);
  expect(await revision()).toBe(at);
  return reply.status;
};

const attributes = async (node: string): Promise<Record<string, string>> =>
  (await server.ok('GET', `/nodes/${node}`))[node];

describe('values', () => {
  beforeEach(() => server.ok('POST', '/nodes/n1', { groups: 'all', usercomment: 'set' }));

  it.each([
    [0, '0'],
    [-1.5, '-1.5'],
    [123456789012, '123456789012'],
    [true, '1'],
    [false, '0'],
    ['0', '0'],
    ['text', 'text'],
    ['a=b', 'a=b'],
    ['Zürich 😀 日本', 'Zürich 😀 日本'],
    ['x'.repeat(65_536), 'x'.repeat(65_536)],
  ])('%j is stored as text', async (given, stored) => {
    await server.ok('PUT', '/nodes/n1', { usercomment: given });
    expect(await attributes('n1')).toEqual({ groups: 'all', usercomment: stored });
  });

  it.each(['', null])('%j clears', async (given) => {
    await server.ok('PUT', '/nodes/n1', { usercomment: given });
    expect(await attributes('n1')).toEqual({ groups: 'all' });
  });

  it.each([
    ['an array', ['a']],
    ['an empty array', []],
    ['an object', { a: 'b' }],
    ['a line feed', 'a\nb'],
    ['a zero byte', 'a\u0000b'],
    ['an escape', '\u001b[31m'],
    ['a delete', '\u007f'],
    ['a tab', 'a\tb'],
    ['half a character', '\ud800'],
    ['too long a text', 'x'.repeat(65_537)],
  ])('%s is refused', async (_what, given) => {
    expect(await refused('PUT', '/nodes/n1', { usercomment: given })).toBe(403);
    expect(await refused('PUT', '/tables/nodelist/nodes/n1', { nodelist: { comments: given } })).toBe(403);
  });

  it.each([
    ['groups', ['all', 'g1'], 'all,g1'],
    ['postscripts', ['p1', 'p2'], 'p1,p2'],
    ['postbootscripts', ['p1', 'p2'], 'p1,p2'],
    ['nicips.eth0', ['10.0.0.1', '10.0.0.2'], '10.0.0.1|10.0.0.2'],
  ])('%s may be given as an array, and with ver=1.0 is shown as one', async (name, given, stored) => {
    await server.ok('PUT', '/nodes/n1', { [name]: given });
    expect((await attributes('n1'))[name]).toBe(stored);
    const shown = await server.ok('GET', '/nodes/n1', undefined, { query: { ver: '1.0' } });
    expect(shown.n1[name]).toEqual(given);
    expect(shown.n1.usercomment).toBe('set');
    expect(await refused('PUT', '/nodes/n1', { [name]: [1] })).toBe(403);
  });

  it.each([
    ['ip', '10.1.1', '10.1.1.1'],
    ['mac', '00:11:22:33:44', '00:11:22:33:44:55'],
    ['bmc', 'no host', 'bmc-1.cluster'],
  ])('of %s that would break a daemon are refused', async (name, bad, good) => {
    const mgt = 'ipmi';
    expect(await refused('PUT', '/nodes/n1', { mgt, [name]: bad })).toBe(403);
    await server.ok('PUT', '/nodes/n1', { mgt, [name]: good });
    expect((await attributes('n1'))[name]).toBe(good);
  });

  it('of networks and policies are checked too', async () => {
    const status = async (path: string, body: object) => (await server.call('POST', path, { body })).status;
    expect(await status('/networks/a', { net: '10.0.0', mask: '255.0.0.0' })).toBe(403);
    expect(await status('/networks/a', { net: '10.0.0.0', mask: '255.0.255.0' })).toBe(403);
    expect(await status('/networks/a', { net: '10.0.0.0', mask: '255.0.0.0', gateway: 'x y' })).toBe(403);
    expect(await status('/networks/a', { net: '10.0.0.0', mask: '255.0.0.0', mtu: 'large' })).toBe(403);
    expect(await status('/policy/one', { rule: 'allow' })).toBe(403);
    expect(await status('/policy/1.x', { rule: 'allow' })).toBe(403);
    expect(await status('/policy/1.10', { rule: 'allow', name: 'x' })).toBe(201);
    expect(await status('/policy/1.1', { rule: 'deny', name: 'x' })).toBe(201);
    expect(await server.ok('GET', '/policy')).toEqual(['1', '1.1', '1.10']);
  });

  it.each([
    ['10.0.0.0', '255.255.255.0', '10.0.1.1', 403],
    ['10.0.0.0', '255.255.255.0', 'fd00::1', 403],
    ['10.0.0.0', '255.255.255.0', '10.0.0.1', 200],
    ['10.0.0.0', '255.255.255.0', '<xcatmaster>', 200],
    ['fd00::', '/64', 'fd00:0:0:1::1', 403],
    ['fd00::', '/64', 'fd00::1', 200],
    ['fd00::', '/64', 'fe80::1', 200],
  ])('of a network %s %s cannot have a gateway outside of it: %s, %d', async (net, mask, gateway, expected) => {
    const made = await server.call('POST', '/networks/a', { body: { net, mask, gateway } });
    expect(made.status).toBe(expected === 200 ? 201 : 403);
    if (expected === 403) await server.ok('POST', '/networks/a', { net, mask, domain: 'c.com' });
    const changed = await server.call('PUT', '/networks/a', { body: { gateway } });
    expect(changed.status).toBe(expected);
    if (expected === 403)
      expect(changed.json.error[0]).toContain(`Network a, gateway: ${gateway} is not inside ${net}/`);
    await server.ok('DELETE', '/networks/a');
  });

  it('of a network that moves away from its gateway are told, one that names a gateway outside is refused', async () => {
    await server.ok('POST', '/networks/a', { net: '10.0.0.0', mask: '255.255.255.0', gateway: '10.0.0.1' });
    const status = async (body: object) => (await server.call('PUT', '/networks/a', { body })).status;
    expect(await status({ net: '10.0.1.0', gateway: '10.0.0.1' })).toBe(403);
    expect(await status({ net: '10.0.1.0' })).toBe(200);
    expect(await status({ net: '10.0.1.0', gateway: '10.0.1.1' })).toBe(200);
    expect(await status({ net: '10.0.2.0', gateway: '' })).toBe(200);
    await server.ok('DELETE', '/networks/a');
  });

  it('of names are checked', async () => {
    const status = async (path: string, body: object) => (await server.call('POST', path, { body })).status;
    for (const name of ['-a', 'a.b', 'a%20b', 'a%0Ab', 'n'.repeat(64), 'a;b', '%E6%97%A5'])
      expect([name, await status(`/nodes/${name}`, { groups: 'all' })]).toEqual([name, 403]);
    for (const name of ['n[1-2]', 'a%20b', 'g%2Fh'])
      expect([name, await status(`/groups/${name}`, { members: '' })]).toEqual([name, 403]);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1']);
  });
});

describe('a write', () => {
  beforeEach(() => server.ok('POST', '/nodes/n1-n3', { groups: 'all', mgt: 'ipmi' }));

  it.each([
    ['one unknown node', 'PUT', '/nodes/n1,nosuch', { mgt: 'kvm' }, 404],
    ['one unknown node to delete', 'DELETE', '/nodes/n1,nosuch', undefined, 404],
    ['one invalid attribute', 'PUT', '/nodes/n1', { mgt: 'kvm', bogus: 'x' }, 403],
    ['one invalid value', 'PUT', '/nodes/n1', { mgt: 'ipmi', ip: 'x' }, 403],
    ['one existing node among new ones', 'POST', '/nodes/n1,n8', { groups: 'all' }, 403],
    ['one invalid name among good ones', 'POST', '/nodes/n8,n.9', { groups: 'all' }, 403],
    ['a new node without groups', 'POST', '/nodes/n8', { mgt: 'ipmi' }, 403],
    ['nothing but a name', 'POST', '/nodes/n8', {}, 403],
    ['a new node without groups by PUT', 'PUT', '/nodes/n8', { mgt: 'ipmi' }, 404],
    ['a new node by PUT without attributes', 'PUT', '/nodes/n8', {}, 404],
    ['new nodes by PUT and what cannot be one', 'PUT', '/nodes/n8,x.y', { groups: 'all' }, 404],
    ['one bad table', 'PUT', '/tables/nodehm,mac/nodes/n1', { nodehm: { mgt: 'x' }, mac: { mac: 'x' } }, 403],
    ['one bad definition', 'PUT', '/nodes', { n1: { mgt: 'kvm' }, n2: { bogus: 'x' } }, 403],
    ['one bad value', 'PUT', '/nodes', { n1: { mgt: 'kvm' }, n2: { ip: 'x' } }, 403],
    ['one bad name', 'PUT', '/nodes', { n1: { mgt: 'kvm' }, 'n 2': { groups: 'all' } }, 403],
    ['a new node without groups in bulk', 'PUT', '/nodes', { n1: { mgt: 'kvm' }, n9: { mgt: 'kvm' } }, 403],
    ['an attribute whose condition does not hold', 'PUT', '/nodes/n1', { mgt: 'x', bmc: '10.0.0.1' }, 403],
  ] as const)('with %s changes nothing', async (_what, method, path, body, status) => {
    expect(await refused(method, path, body)).toBe(status);
  });

  it('names every invalid attribute', async () => {
    const reply = await server.call('PUT', '/nodes/n1', { body: { bogus: 'x', wrong: 'y' } });
    expect(reply.json.error).toEqual([expect.stringContaining('bogus'), expect.stringContaining('wrong')]);
  });

  it('without attributes succeeds and changes nothing', async () => {
    expect(await refused('PUT', '/nodes/n1', {})).toBe(200);
    expect(await refused('PUT', '/nodes/n1')).toBe(200);
    expect(await refused('PUT', '/nodes/n1-n3', { mgt: 'ipmi' })).toBe(200);
  });

  it('with -p adds to a list, with -m takes from it', async () => {
    await server.ok('PUT', '/nodes/n1,n2', { groups: 'g1,g2', options: { '-p': '' } });
    expect((await attributes('n1'))['groups']).toBe('all,g1,g2');
    await server.ok('PUT', '/nodes/n1', { groups: 'all', options: { '-p': '' } });
    expect((await attributes('n1'))['groups']).toBe('all,g1,g2');
    await server.ok('PUT', '/nodes/n1', { groups: 'g1', options: { '-m': '' } });
    expect((await attributes('n1'))['groups']).toBe('all,g2');
    expect(await refused('PUT', '/nodes/n1,n2', { groups: 'g1', options: { '-m': '' } })).toBe(403);
    expect((await attributes('n2'))['groups']).toBe('all,g1,g2');
  });

  it('with -f replaces what exists', async () => {
    await server.ok('POST', '/nodes/n1,n9', { groups: 'g1', arch: 'x86_64', options: { '-f': '' } });
    expect(await attributes('n1')).toEqual({ arch: 'x86_64', groups: 'g1' });
    expect(await attributes('n9')).toEqual({ arch: 'x86_64', groups: 'g1' });
  });

  it('with --template starts from a template or another object', async () => {
    const options = (template: string) => ({ options: { '--template': template } });
    expect(await refused('POST', '/nodes/s1', options('onieswitch'))).toBe(403);
    await server.ok('POST', '/nodes/s1', { ...options('onieswitch'), ip: '10.0.0.9' });
    expect(await attributes('s1')).toMatchObject({ groups: 'switch', ip: '10.0.0.9', mgt: 'switch' });
    await server.ok('POST', '/nodes/n9', { ...options('n1'), groups: 'g9' });
    expect(await attributes('n9')).toEqual({ groups: 'g9', mgt: 'ipmi' });
    expect(await refused('POST', '/nodes/n10', options('nosuch'))).toBe(404);
  });

  it('is read back from every table it went to', async () => {
    await server.ok('PUT', '/nodes/n1', { arch: 'x86_64', bmc: '10.0.0.1' });
    expect(await server.ok('GET', '/tables/nodetype,ipmi,nodehm/nodes/n1')).toEqual({
      nodetype: [{ name: 'n1', arch: 'x86_64' }],
      ipmi: [{ name: 'n1', bmc: '10.0.0.1' }],
      nodehm: [{ name: 'n1', mgt: 'ipmi' }],
    });
    await server.ok('DELETE', '/nodes/n1');
    const tables = await server.ok('GET', '/tables/nodetype,ipmi,nodehm,nodelist/rows');
    expect(JSON.stringify(tables)).not.toContain('"n1"');
  });
});

describe('PUT of what is not there', () => {
  it('makes nodes if groups are given', async () => {
    await server.ok('PUT', '/nodes/n1-n2', { groups: 'all', mgt: 'ipmi' });
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n2']);
  });

  it('makes images, networks, groups and policies', async () => {
    await server.ok('PUT', '/osimages/img', { osvers: 'rocky9.2' });
    expect(await server.ok('GET', '/osimages/img')).toEqual({ img: { osvers: 'rocky9.2' } });
    expect((await server.call('PUT', '/networks/net', { body: { net: '10.0.0.0' } })).status).toBe(403);
    await server.ok('PUT', '/networks/net', { net: '10.0.0.0', mask: '255.0.0.0' });
    expect(await server.ok('GET', '/networks/net')).toEqual({ net: { mask: '255.0.0.0', net: '10.0.0.0' } });
    await server.ok('PUT', '/policy/7', { rule: 'deny', name: 'x' });
    expect(await server.ok('GET', '/policy/7')).toEqual({ 7: { name: 'x', rule: 'deny' } });
    await server.ok('PUT', '/nodes/n1', { groups: 'all' });
    await server.ok('PUT', '/groups/g1', { members: 'n1' });
    expect(await server.ok('GET', '/groups/g1/attrs/members')).toEqual({ g1: { members: 'n1' } });
  });

  it('but not without attributes', async () => {
    for (const path of ['/osimages/img', '/networks/net', '/policy/7', '/groups/g1'])
      expect([path, (await server.call('PUT', path, { body: {} })).status]).toEqual([path, 404]);
  });

  it('POST of an existing policy changes it', async () => {
    await server.ok('POST', '/policy/7', { rule: 'deny', name: 'x' });
    await server.ok('POST', '/policy/7', { name: 'y' });
    expect(await server.ok('GET', '/policy/7')).toEqual({ 7: { name: 'y', rule: 'deny' } });
  });
});

describe('globalconf', () => {
  it('is one object, changed by the body', async () => {
    expect(await server.ok('GET', '/globalconf')).toEqual({ clustersite: {} });
    await server.ok('PUT', '/globalconf/attrs/domain,master', { domain: 'a.example', master: '10.0.0.1' });
    expect(await server.ok('GET', '/globalconf')).toEqual({ clustersite: { domain: 'a.example', master: '10.0.0.1' } });
    expect(await server.ok('GET', '/globalconf/attrs/domain')).toEqual({ clustersite: { domain: 'a.example' } });
    expect(await server.ok('GET', '/globalconf/attrs/nosuch')).toEqual({});
    await server.ok('DELETE', '/globalconf/attrs/domain');
    expect(await server.ok('GET', '/globalconf')).toEqual({ clustersite: { master: '10.0.0.1' } });
    await server.ok('DELETE', '/globalconf/attrs/domain');
  });

  it('wants every attribute of the path in the body at /muster', async () => {
    const put = (root: string) =>
      server.call('PUT', '/globalconf/attrs/domain,master', { root, body: { domain: 'b' } });
    expect((await put('/muster')).status).toBe(403);
    expect(await server.ok('GET', '/globalconf')).toEqual({ clustersite: {} });
    expect((await put('/xcatws')).status).toBe(200);
    expect(await server.ok('GET', '/globalconf')).toEqual({ clustersite: { domain: 'b' } });
  });

  it('keeps "0"', async () => {
    await server.ok('PUT', '/globalconf/attrs/ppctimeout', { ppctimeout: 0 });
    expect(await server.ok('GET', '/globalconf')).toEqual({ clustersite: { ppctimeout: '0' } });
  });
});

describe('PUT of a whole collection', () => {
  const kinds: [string, Record<string, Record<string, string>>][] = [
    [
      'nodes',
      { n1: { groups: 'all,compute', arch: 'x86_64' }, n2: { groups: 'all,compute', mgt: 'ipmi', bmc: '10.0.0.2' } },
    ],
    ['osimages', { a: { osvers: 'rocky9', provmethod: 'install' }, b: { osvers: 'debian12' } }],
    [
      'networks',
      { a: { net: '10.1.0.0', mask: '255.255.0.0' }, b: { net: '10.2.0.0', mask: '255.255.0.0', mgtifname: 'eth0' } },
    ],
    ['policy', { 1: { name: 'root', rule: 'allow' }, 7.5: { name: 'x', rule: 'deny' } }],
    ['groups', { g1: { members: '' }, g2: { grouptype: 'dynamic', wherevals: 'mgt==ipmi' } }],
  ];

  it.each(kinds)('makes and changes many %s, and what was read changes nothing', async (kind, definitions) => {
    const before = await revision();
    await server.ok('PUT', `/${kind}`, definitions);
    expect(await revision()).toBe(before + 1);
    const read = await server.ok('GET', `/${kind}/ALLRESOURCES`);
    for (const [name, given] of Object.entries(definitions)) expect(read[name]).toMatchObject(given);
    await server.ok('PUT', `/${kind}`, read);
    expect(await revision()).toBe(before + 1);
    expect(await server.ok('GET', `/${kind}/ALLRESOURCES`)).toEqual(read);
    await server.ok('PUT', `/${kind}`, {});
    expect(await revision()).toBe(before + 1);
  });

  it('writes back inherited and secret values without copying them', async () => {
    await server.ok('PUT', '/groups/compute', { mgt: 'ipmi', bmc: '|\\D+(\\d+)$|10.0.0.($1)|', bmcpassword: 'secret' });
    await server.ok('PUT', '/nodes', { n1: { groups: 'compute' }, n2: { groups: 'compute', bmcpassword: 'own' } });
    const read = await server.ok('GET', '/nodes/ALLRESOURCES');
    expect(read.n1).toEqual({ bmc: '10.0.0.1', bmcpassword: '********', groups: 'compute', mgt: 'ipmi' });
    const before = await revision();
    await server.ok('PUT', '/nodes', read);
    expect(await revision()).toBe(before);
    read.n1.bmc = '10.9.9.9';
    await server.ok('PUT', '/nodes', read);
    expect(await server.ok('GET', '/tables/ipmi/rows/node=n1')).toEqual({ ipmi: [{ node: 'n1', bmc: '10.9.9.9' }] });
  });

  it('takes 10,000 different nodes in one request', async () => {
    const definitions: Record<string, object> = {};
    for (let i = 0; i < 10_000; i++) {
      definitions[`c${i}`] = { groups: 'all,compute', ip: `10.${i >> 8}.${i & 255}.1`, usercomment: `node ${i}` };
    }
    const before = await revision();
    await server.ok('PUT', '/nodes', definitions);
    expect(await revision()).toBe(before + 1);
    const read = await server.ok('GET', '/nodes/ALLRESOURCES');
    expect(read).toEqual(definitions);
    definitions['c77'] = { groups: 'all', ip: 'broken' };
    definitions['c78'] = { groups: 'other' };
    const reply = await server.call('PUT', '/nodes', { body: definitions });
    expect(reply.status).toBe(403);
    expect(reply.json.error[0]).toContain('c77');
    expect(await server.ok('GET', '/nodes/c78')).toEqual({ c78: read.c78 });
    await server.ok('DELETE', '/nodes/compute');
    expect(await server.ok('GET', '/nodes')).toEqual([]);
  });

  it.each(['[]', '{"n1":[]}', '{"n1":"x"}', '{"n1":null}', '{"n1":5}'])('refuses %s', async (body) => {
    expect((await server.call('PUT', '/nodes', { body })).status).toBe(400);
  });

  it('is not offered at /xcatws', async () => {
    const reply = await server.call('PUT', '/nodes', { root: '/xcatws', body: {} });
    expect([reply.status, reply.headers['allow']]).toEqual([405, 'GET']);
  });
});

describe('hidden nodes', () => {
  it('are left out of listings and of ranges by group, and shown when named', async () => {
    await server.ok('POST', '/nodes/n1-n3', { groups: 'all,g1' });
    await server.ok('PUT', '/nodes/n2', { hidden: '1' });
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n3']);
    expect(Object.keys(await server.ok('GET', '/nodes/ALLRESOURCES'))).toEqual(['n1', 'n3']);
    expect(await server.ok('GET', '/nodes/g1/nodels')).toEqual(['n1', 'n3']);
    expect(await server.ok('GET', '/nodes/n1-n3/nodels')).toEqual(['n1', 'n2', 'n3']);
    expect(await server.ok('GET', '/nodes/n2')).toEqual({ n2: { groups: 'all,g1', hidden: '1' } });
    await server.ok('DELETE', '/nodes/g1');
    expect(await server.ok('GET', '/nodes/n2/nodels')).toEqual(['n2']);
  });
});

describe('rename', () => {
  it('moves the node in every table', async () => {
    await server.ok('POST', '/nodes/n1', {
      groups: 'all',
      mgt: 'ipmi',
      bmc: '10.0.0.1',
      bmcpassword: 'pw',
      arch: 'x86_64',
    });
    const before = await attributes('n1');
    await server.ok('PUT', '/nodes/n1/rename', { newNode: 'm1' });
    expect(await server.ok('GET', '/nodes')).toEqual(['m1']);
    expect(await attributes('m1')).toEqual(before);
    expect((await server.call('GET', '/nodes/n1')).status).toBe(404);
  });

  it('is refused when it cannot be', async () => {
    await server.ok('POST', '/nodes/n1,n2', { groups: 'all' });
    const status = async (path: string, newNode: unknown) =>
      (await server.call('PUT', `${path}/rename`, { body: { newNode } })).status;
    expect(await status('/nodes/n1', 'n2')).toBe(403);
    expect(await status('/nodes/n1', 'all')).toBe(403);
    expect(await status('/nodes/n1', 'a b')).toBe(403);
    expect(await status('/nodes/n1', 'ALLRESOURCES')).toBe(403);
    expect(await status('/nodes/n1', '')).toBe(400);
    expect(await status('/nodes/n1,n2', 'n3')).toBe(403);
    expect(await status('/nodes/nosuch', 'n3')).toBe(404);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n2']);
  });
});

describe('explain', () => {
  it('tells where a value comes from', async () => {
    await server.ok('PUT', '/tables/postscripts/rows/node=xcatdefaults', { postscripts: 'syslog' });
    await server.ok('PUT', '/groups/compute', { mgt: 'ipmi', bmc: '|\\D+(\\d+)$|10.0.0.($1)|' });
    await server.ok('POST', '/nodes/n1', { groups: 'compute', arch: 'x86_64', bmcpassword: 'hide-me' });
    const explain = async (attribute: string) => (await server.ok('GET', `/nodes/n1/explain/${attribute}`)).n1;
    expect(await explain('bmc')).toEqual({
      value: '10.0.0.1',
      source: 'group',
      row: 'compute',
      table: 'ipmi',
      column: 'bmc',
      stored: '|\\D+(\\d+)$|10.0.0.($1)|',
      pattern: '|\\D+(\\d+)$|10.0.0.($1)|',
      because: 'mgt is ipmi',
    });
    expect(await explain('arch')).toMatchObject({ value: 'x86_64', source: 'node', row: 'n1', stored: 'x86_64' });
    expect(await explain('postscripts')).toMatchObject({ value: 'syslog', source: 'default', row: 'xcatdefaults' });
    expect(await explain('cons')).toEqual({ value: '', source: 'unset' });
    expect(await explain('bmcpassword')).toMatchObject({ value: '********', source: 'node', stored: '********' });
    expect((await server.call('GET', '/nodes/n1/explain/bogus')).status).toBe(403);
    expect((await server.call('GET', '/nodes/nosuch/explain/arch')).status).toBe(404);
  });
});

describe('nic attributes', () => {
  it('are parts of one column, each read and written alone', async () => {
    await server.ok('POST', '/nodes/n1', {
      groups: 'all',
      'nicips.eth0': '10.0.0.1',
      'nicips.eth1': '10.1.0.1',
      'nictypes.eth0': 'ethernet',
    });
    const nics = { 'nicips.eth0': '10.0.0.1', 'nicips.eth1': '10.1.0.1', 'nictypes.eth0': 'ethernet' };
    expect(await attributes('n1')).toEqual({ groups: 'all', ...nics });
    expect(await server.ok('GET', '/nodes/n1/attrs/nicips.eth1')).toEqual({ n1: { 'nicips.eth1': '10.1.0.1' } });
    await server.ok('PUT', '/nodes/n1', { 'nicips.eth0': '10.0.0.2' });
    expect(await attributes('n1')).toEqual({ groups: 'all', ...nics, 'nicips.eth0': '10.0.0.2' });
    await server.ok('PUT', '/nodes/n1', { 'nicips.eth0': '', 'nictypes.eth0': '' });
    expect(await attributes('n1')).toEqual({ groups: 'all', 'nicips.eth1': '10.1.0.1' });
  });
});

describe('postscripts', () => {
  it('come after those of xcatdefaults', async () => {
    await server.ok('PUT', '/tables/postscripts/rows/node=xcatdefaults', { postscripts: 'syslog,remoteshell' });
    await server.ok('POST', '/nodes/n1', { groups: 'all', postscripts: 'mine' });
    expect(await attributes('n1')).toEqual({ groups: 'all', postscripts: 'syslog,remoteshell,mine' });
  });
});

describe('groups', () => {
  beforeEach(() => server.ok('POST', '/nodes/n1-n4', { groups: 'all', mgt: 'ipmi' }));
  const members = async (group: string) => (await server.ok('GET', `/groups/${group}/attrs/members`))[group].members;

  it('are made, changed and removed with their members', async () => {
    await server.ok('POST', '/groups/g1', { members: 'n1-n2', mgt: 'kvm' });
    expect(await members('g1')).toBe('n1,n2');
    await server.ok('PUT', '/groups/g1', { members: 'n3', options: { '-p': '' } });
    expect(await members('g1')).toBe('n1,n2,n3');
    await server.ok('PUT', '/groups/g1', { members: ['n4'] });
    expect(await members('g1')).toBe('n4');
    expect(await server.ok('GET', '/nodes/g1/nodels')).toEqual(['n4']);
    expect(await server.ok('GET', '/groups')).toEqual(['all', 'g1']);
    await server.ok('DELETE', '/groups/g1');
    expect(await server.ok('GET', '/groups')).toEqual(['all']);
    expect(await attributes('n4')).toEqual({ groups: 'all', mgt: 'ipmi' });
  });

  it('give their attributes to nodes that have none', async () => {
    await server.ok('POST', '/groups/g1', { members: 'n1', arch: 'ppc64le', mgt: 'openbmc' });
    expect(await attributes('n1')).toEqual({ arch: 'ppc64le', groups: 'all,g1', mgt: 'ipmi' });
  });

  it('may select their members', async () => {
    await server.ok('POST', '/groups/dyn', { grouptype: 'dynamic', wherevals: 'mgt==ipmi' });
    expect(await members('dyn')).toBe('n1,n2,n3,n4');
    await server.ok('PUT', '/nodes/n2', { mgt: 'kvm' });
    expect(await server.ok('GET', '/nodes/dyn/nodels')).toEqual(['n1', 'n3', 'n4']);
    await server.ok('POST', '/groups/dyn2', { options: { '-d': '', '-w': ['mgt==kvm'] } });
    expect(await members('dyn2')).toBe('n2');
    await server.ok('DELETE', '/groups/dyn,dyn2');
    expect(await server.ok('GET', '/groups')).toEqual(['all']);
  });

  it.each([
    ['a selection by a secret', { grouptype: 'dynamic', wherevals: 'bmcpassword==x' }],
    ['a selection by an unknown attribute', { grouptype: 'dynamic', wherevals: 'bogus==x' }],
    ['no selection', { grouptype: 'dynamic' }],
    ['members of its own', { grouptype: 'dynamic', wherevals: 'mgt==ipmi', members: 'n1' }],
    ['an unknown type', { grouptype: 'other' }],
    ['unknown members', { members: 'nosuch' }],
  ])('with %s are refused', async (_what, body) => {
    const { status } = await server.call('POST', '/groups/g9', { body });
    expect([403, 404]).toContain(status);
    expect(await server.ok('GET', '/groups')).toEqual(['all']);
  });

  it('are made and removed at /muster alone', async () => {
    for (const method of ['POST', 'DELETE'])
      expect((await server.call(method, '/groups/g1', { root: '/xcatws' })).status).toBe(405);
  });
});

describe('tables', () => {
  it('rows that match nothing are deleted with success', async () => {
    const before = await revision();
    await server.ok('DELETE', '/tables/routes/rows/routename=nosuch');
    expect(await revision()).toBe(before);
  });

  it('take several keys for one table, and several tables without keys', async () => {
    await server.ok('PUT', '/tables/networks/rows/net=10.0.0.0,mask=255.0.0.0', { netname: 'a' });
    const rows = [{ mask: '255.0.0.0', net: '10.0.0.0', netname: 'a' }];
    expect(await server.ok('GET', '/tables/networks/rows/net=10.0.0.0,mask=255.0.0.0')).toEqual({ networks: rows });
    expect(await server.ok('GET', '/tables/networks,routes/rows')).toEqual({ networks: rows, routes: [] });
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await server.call(method, '/tables/networks,routes/rows/net=10.0.0.0')).status).toBe(400);
  });

  it.each(['token', 'auditlog', 'eventlog'])('%s is not written', async (table) => {
    const key = { token: 'username=root', auditlog: 'recid=1', eventlog: 'recid=1' }[table];
    expect((await server.call('PUT', `/tables/${table}/rows/${key}`, { body: { comments: 'x' } })).status).toBe(403);
    expect((await server.call('DELETE', `/tables/${table}/rows/${key}`)).status).toBe(403);
  });

  it('the journal is no table', async () => {
    expect((await server.call('GET', '/tables/muster_journal/rows')).status).toBe(404);
  });
});
