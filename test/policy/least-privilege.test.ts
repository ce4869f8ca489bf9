import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

/** An operator of three nodes: what such an account can reach beyond them. */
let server: TestServer;
let op: string;

const commands = 'lsdef,chdef,mkdef,rmdef,rpower,tabch,tabdump,nodels,rspconfig,makehosts';

beforeAll(async () => {
  server = await startServer();
  op = await addUser(server, 'op');
  await server.ok('PUT', '/globalconf/attrs/domain', { domain: 'cluster.example' });
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all,mine' });
  await server.ok('POST', '/nodes/n10', {
    groups: 'all,others',
    mgt: 'ipmi',
    bmc: '10.9.0.10',
    ip: '10.2.0.10',
    mac: '52:54:00:00:00:10',
    arch: 'x86_64',
    serial: 'S10',
    mtm: 'M1',
    postscripts: 'hidden-script',
  });
  await server.ok('POST', '/nodes/s1-s2', { groups: 'all,storage' });
  await server.ok('PUT', '/groups/storage', { mgt: 'ipmi', bmcusername: 'storage', bmcpassword: 'of-storage' });
  await server.ok('PUT', '/groups/mine', { mgt: 'ipmi', bmcpassword: 'of-mine' });
  await server.ok('PUT', '/nodes/n3', { mgt: 'redfish' });
  await server.ok('PUT', '/groups/empty', { mgt: 'ipmi', bmcpassword: 'of-empty' });
  await server.ok('PUT', '/groups/plain', { usercomment: 'no attributes' });
  await server.ok('POST', '/groups/racked', { grouptype: 'dynamic', wherevals: 'rack==r1' });
  await server.ok('PUT', '/tables/spcert/rows/node=n10', { fingerprint: 'AA:BB' });
  await server.ok('PUT', '/tables/sshhostkey/rows/node=n10', { hostkey: 'ssh-ed25519 AAAA' });
});
afterAll(() => server.stop());

/** The rules below root's own, all for `op`. */
const rules = async (...given: Record<string, string>[]) => {
  for (const priority of await server.ok('GET', '/policy'))
    if (priority !== '1') await server.ok('DELETE', `/policy/${priority}`);
  for (const [i, rule] of given.entries())
    await server.ok('POST', `/policy/${i + 2}`, { name: 'op', rule: 'allow', ...rule });
};
const mine = { commands, noderange: 'mine' };
const call = (method: string, path: string, body?: object, token = op) =>
  server.call(method, path, { token, ...(body ? { body } : {}) });
const revision = async () => (await server.call('GET', '/nodes')).headers['x-muster-revision'];

async function expectRefused(method: string, path: string, body?: object): Promise<string> {
  const before = await revision();
  const reply = await call(method, path, body);
  expect([reply.status, reply.json?.errorcode, reply.text]).toEqual([403, 2, expect.anything()]);
  expect(await revision()).toBe(before);
  return reply.json.error.join(' ');
}
async function expectDone(method: string, path: string, body?: object): Promise<void> {
  const reply = await call(method, path, body);
  expect([reply.status, reply.text]).toEqual([method === 'POST' ? 201 : 200, expect.anything()]);
}

describe('a rule that is limited to a noderange', () => {
  beforeEach(() => rules(mine));

  it('covers what decides nothing about trust', async () => {
    await expectDone('GET', '/nodes/mine');
    await expectDone('PUT', '/nodes/n1-n3', { rack: 'r1', usercomment: 'x', arch: 'x86_64' });
    await expectDone('PUT', '/groups/mine', { os: 'debian12' });
    await expectDone('PUT', '/tables/nodepos/nodes/n1', { nodepos: { u: '7' } });
    await expectDone('GET', '/tables/nodepos/rows/node=n1');
    await expectDone('PUT', '/nodes/n1-n3', { rack: '' });
  });

  it('covers writing back what stands there', async () => {
    const definition = (await call('GET', '/nodes/n1')).json.n1;
    await expectDone('PUT', '/nodes/n1', definition);
    await expectDone('PUT', '/nodes', { n1: definition });
  });

  it.each([
    ['where a password is sent', 'PUT', '/nodes/n1', { bmc: '10.66.0.1' }],
    ['to which port', 'PUT', '/nodes/n1', { bmcport: '6230' }],
    ['by which protocol', 'PUT', '/nodes/n1', { mgt: 'redfish' }],
    ['by which driver', 'PUT', '/nodes/n1', { power: 'openbmc' }],
    ['which account is used', 'PUT', '/nodes/n1', { bmcusername: 'root' }],
    ['the address of a node', 'PUT', '/nodes/n1', { ip: '10.66.0.1' }],
    ['the MAC of a node', 'PUT', '/nodes/n1', { mac: '52:54:00:66:00:01' }],
    ['other names of a node', 'PUT', '/nodes/n1', { hostnames: 'login' }],
    ['addresses of interfaces', 'PUT', '/nodes/n1', { 'nicips.eth1': '10.66.0.1' }],
    ['the way to a node', 'PUT', '/nodes/n1', { servicenode: 'n3' }],
    ['the management node of a node', 'PUT', '/nodes/n1', { xcatmaster: '10.66.0.1' }],
    ['the hypervisor of a machine', 'PUT', '/nodes/n1', { vmhost: 'n3' }],
    ['what runs on a node', 'PUT', '/nodes/n1', { postscripts: 'mine' }],
    ['what boots on a node', 'PUT', '/nodes/n1', { addkcmdline: 'init=/bin/sh' }],
    ['what a node boots next', 'PUT', '/nodes/n1', { currstate: 'sysclone debian12-x86_64-disk1' }],
    ['the same by its table', 'PUT', '/tables/chain/nodes/n1', { chain: { currstate: 'runcmd=x' } }],
    ['what is done with a new machine', 'PUT', '/nodes/n1', { chain: 'runcmd=x' }],
    ['which machine is meant', 'PUT', '/nodes/n1', { serial: 'S10', mtm: 'M1' }],
    ['groups of a node', 'PUT', '/nodes/n1', { groups: 'all,mine,plain' }],
    ['groups of a node, added', 'PUT', '/nodes/n1', { groups: 'plain', options: { '-p': '' } }],
    ['groups of a node, taken', 'PUT', '/nodes/n1', { groups: 'mine', options: { '-m': '' } }],
    ['members of its own group', 'PUT', '/groups/mine', { members: 'n1,n2' }],
    ['what its own group selects', 'PUT', '/groups/mine', { grouptype: 'dynamic', wherevals: 'node=~.*' }],
    ['the same by many', 'PUT', '/groups', { mine: { grouptype: 'dynamic', wherevals: 'node=~.*' } }],
    [
      'the same by force',
      'POST',
      '/groups/mine',
      { grouptype: 'dynamic', wherevals: 'node=~.*', options: { '-f': '' } },
    ],
    ['the BMCs of its own group', 'PUT', '/groups/mine', { bmc: '|n(\\d+)|10.66.0.($1)|' }],
    ['a row by its table', 'PUT', '/tables/ipmi/nodes/n1', { ipmi: { bmc: '10.66.0.1' } }],
    ['whether a row counts', 'PUT', '/tables/nodehm/nodes/n3', { nodehm: { disable: '1' } }],
    ['a trusted certificate', 'PUT', '/tables/spcert/nodes/n1', { spcert: { fingerprint: 'CC' } }],
    ['a trusted host key', 'PUT', '/tables/sshhostkey/nodes/n1', { sshhostkey: { hostkey: 'ssh-rsa X' } }],
    [
      'a reservation',
      'PUT',
      '/tables/dhcphost/nodes/n1',
      { dhcphost: { mac: '52:54:00:00:00:10', ip: '10.2.0.10', nextserver: '10.66.0.1' } },
    ],
    ['a node by many', 'PUT', '/nodes', { n1: { bmc: '10.66.0.1' }, n2: { rack: 'r2' } }],
    ['a node made again', 'POST', '/nodes/n1', { groups: 'all,mine', bmc: '10.66.0.1', options: { '-f': '' } }],
    ['a group', 'DELETE', '/groups/mine', undefined],
  ] as const)('does not cover %s', async (_what, method, path, body) => {
    const sentence = await expectRefused(method, path, body);
    expect(sentence).toMatch(/decides whom muster trusts/);
  });

  describe('where every member of its group has its own value', () => {
    beforeAll(async () => {
      await server.ok('PUT', '/groups/mine', { bmcport: '6299' });
      for (const n of [1, 2, 3]) await server.ok('PUT', `/nodes/n${n}`, { bmc: `10.9.1.${n}`, bmcport: '623' });
    });
    afterAll(async () => {
      await server.ok('PUT', '/nodes/n1-n3', { bmc: '', bmcport: '' });
      await server.ok('PUT', '/groups/mine', { bmcport: '' });
    });

    it.each([
      ['an attribute', 'PUT', '/groups/mine', { bmc: '10.66.0.1' }],
      ['what a member has', 'PUT', '/groups/mine', { bmc: '10.9.1.1' }],
      ['a value that goes', 'PUT', '/groups/mine', { bmcport: '' }],
      ['an attribute among others', 'PUT', '/groups/mine', { os: 'debian12', bmc: '10.66.0.1' }],
      ['the same by many', 'PUT', '/groups', { mine: { bmc: '10.66.0.1' } }],
      [
        'a set of definitions',
        'PUT',
        '/definitions',
        { definitions: [{ type: 'group', names: 'mine', attributes: { bmc: '10.66.0.1' } }] },
      ],
      ['columns of groups', 'PUT', '/groups/mine/columns', { set: { 'ipmi.bmc': '10.66.0.1' } }],
    ] as const)('does not cover %s', async (_what, method, path, body) => {
      await rules({ ...mine, commands: `${commands},nodegrpch` });
      expect(await expectRefused(method, path, body)).toMatch(/decides whom muster trusts/);
    });

    it('covers what decides nothing, and a parameter that names it', async () => {
      await expectDone('PUT', '/groups/mine', { os: 'debian12' });
      await rules({ ...mine, parameters: '\\bbmcport=' });
      await expectDone('PUT', '/groups/mine', { bmcport: '6298' });
    });
  });

  const own = { type: 'node', names: 'n1', attributes: { rack: 'r9' } };
  it.each([
    ['the name of another node', 'PUT', '/nodes/n1/rename', { newNode: 'n10' }],
    ['a name that nobody has', 'PUT', '/nodes/n1/rename', { newNode: 'fresh' }],
    ['the name of a group', 'PUT', '/definitions/node/n1/rename', { name: 'storage' }],
    ['the name of another node, by definitions', 'PUT', '/definitions/node/n1/rename', { name: 'n10' }],
    ['the node of others under its name', 'PUT', '/definitions/node/n10/rename', { name: 'n4' }],
    ['its group under the name of another', 'PUT', '/definitions/group/mine/rename', { name: 'storage' }],
    ['a node added that others have', 'POST', '/nodes/n10/columns', { set: { 'nodelist.groups': 'all,mine' } }],
    ['a new node added to its group', 'POST', '/nodes/x1/columns', { set: { 'nodelist.groups': 'all,mine' } }],
    ['a node added again to another group', 'POST', '/nodes/n1/columns', { set: { 'nodelist.groups': 'storage' } }],
    ['another node beside its own', 'PUT', '/definitions', { definitions: [own, { ...own, names: 'n10' }] }],
    ['a range of both', 'PUT', '/definitions', { definitions: [{ ...own, names: 'mine,others' }] }],
    [
      'a group beside its node',
      'PUT',
      '/definitions',
      { definitions: [own, { ...own, type: 'group', names: 'storage' }] },
    ],
    [
      'a rule beside its node',
      'PUT',
      '/definitions',
      { definitions: [own, { type: 'policy', names: '0.5', attributes: { name: 'op', rule: 'allow' } }] },
    ],
    [
      'the site beside its node',
      'PUT',
      '/definitions',
      { definitions: [own, { type: 'site', names: 'clustersite', attributes: { domain: 'x' } }] },
    ],
    ['the removal of another', 'PUT', '/definitions', { definitions: [own], remove: [{ type: 'node', names: 'n10' }] }],
    ['that of a group', 'PUT', '/definitions', { definitions: [own], remove: [{ type: 'group', names: 'storage' }] }],
  ] as const)('gives no way to %s', async (_what, method, path, body) => {
    await rules({ ...mine, commands: `${commands},nodeadd,nodech,nodegrpch` });
    await expectRefused(method, path, body);
  });

  it.each(['bmc=10.66.0.1', 'groups=all,storage', 'mgt=redfish', 'ip=10.66.0.1', 'postscripts=evil'])(
    'does not cover ?%s at /xcatws, where parameters are attributes',
    async (query) => {
      const before = await revision();
      const reply = await server.call('PUT', `/nodes/n1?${query}`, {
        root: '/xcatws',
        token: op,
        body: { rack: 'r9' },
      });
      expect([reply.status, reply.text]).toEqual([401, expect.stringContaining('decides whom muster trusts')]);
      expect(await revision()).toBe(before);
    },
  );

  it('says what would cover it', async () => {
    expect(await expectRefused('PUT', '/nodes/n1', { bmc: '10.66.0.1' })).toBe(
      'User "op" may not change bmc of n1: it decides whom muster trusts, which needs a policy rule for chdef without a noderange, or one whose parameters name it, such as "bmc=".',
    );
  });

  it('covers the removal of its nodes', async () => {
    await server.ok('POST', '/nodes/n4', { groups: 'all,mine', bmc: '10.9.0.4', mgt: 'ipmi' });
    await expectDone('DELETE', '/nodes/n4');
  });

  it('does not cover a group without members, alone or beside others', async () => {
    for (const names of ['empty', 'mine,empty']) {
      await expectRefused('GET', `/groups/${names}`);
      await expectRefused('PUT', `/groups/${names}`, { os: 'debian12' });
      await expectRefused('DELETE', `/groups/${names}`);
    }
    await expectRefused('PUT', '/groups/mine,yet-to-come', { os: 'debian12' });
  });

  it('does not cover a group with the name of a node that it does not cover', async () => {
    await server.ok('PUT', '/nodes/n1', { groups: 'all,mine,s2' });
    await expectRefused('GET', '/groups/s2');
    await expectRefused('PUT', '/groups/s2', { os: 'debian12' });
    await server.ok('PUT', '/nodes/n1', { groups: 'all,mine' });
  });

  it('does not cover a service for all nodes, nor a table of all', async () => {
    await rules({ noderange: 'all' });
    await expectRefused('POST', '/services/host');
    await expectRefused('POST', '/services/host', { only: 'n1' });
    await expectRefused('GET', '/tables/ipmi/rows');
  });
});

describe('a rule whose parameters name an attribute', () => {
  it('covers it, and no other', async () => {
    await rules({ ...mine, parameters: '\\bbmc=10\\.1\\.' }, mine);
    await expectDone('PUT', '/nodes/n1', { bmc: '10.1.0.1' });
    await expectDone('PUT', '/nodes/n1', { rack: 'r7', bmc: '10.1.0.2' });
    await expectDone('PUT', '/tables/ipmi/nodes/n1', { ipmi: { bmc: '10.1.0.3' } });
    await expectRefused('PUT', '/nodes/n1', { bmc: '10.66.0.1' });
    await expectRefused('PUT', '/nodes/n1', { bmc: '10.1.0.1', mgt: 'redfish' });
    await expectRefused('PUT', '/nodes', { n1: { bmc: '10.1.0.4' }, n2: { bmc: '10.66.0.1' } });
    await server.ok('PUT', '/nodes/n1', { bmc: '', rack: '' });
  });

  it('must mean it: another argument with its text in it is not it', async () => {
    await rules({ ...mine, parameters: '\\bbmc=10\\.1\\.' }, mine);
    await expectRefused('PUT', '/nodes/n1', { usercomment: 'bmc=10.1.0.1', bmc: '10.66.0.1' });
    await expectRefused('PUT', '/nodes/n1', { usercomment: ' bmc=10.1.0.1 ', bmc: '10.66.0.1' });
  });

  it.each(['.*', 'n1', '-t node', '\\w+=', '=10\\.', '-o n1 .+', '^.{0,200}$'])(
    'does not if it is %s, which fits anything',
    async (parameters) => {
      await rules({ ...mine, parameters }, mine);
      await expectRefused('PUT', '/nodes/n1', { bmc: '10.1.0.1' });
    },
  );

  it.each(['bmc=', '\\b(bmc|rack)=', '^-t node -o n1 bmc=\\S+$', '-o n1 rack=r1 bmc=10'])(
    'may say it as %s',
    async (parameters) => {
      await rules({ ...mine, parameters }, mine);
      await expectDone('PUT', '/nodes/n1', { ...(parameters.includes('rack=r1') && { rack: 'r1' }), bmc: '10.1.0.1' });
      await server.ok('PUT', '/nodes/n1', { bmc: '', rack: '' });
    },
  );
});

describe('a rule without a noderange', () => {
  it('covers what it did', async () => {
    await rules({ commands });
    await expectDone('PUT', '/nodes/n1', { bmc: '10.1.0.1', groups: 'all,mine,plain' });
    await expectDone('PUT', '/groups/mine', { members: 'n1,n2,n3' });
    await server.ok('PUT', '/nodes/n1', { bmc: '', groups: 'all,mine' });
  });

  it('refuses what another rule does, argument by argument, object by object', async () => {
    await rules({ commands: 'chdef', parameters: '\\bbmc=', rule: 'deny' }, { commands });
    await expectRefused('PUT', '/nodes/n1', { bmc: '10.1.0.1' });
    await expectRefused('PUT', '/nodes', { n2: { rack: 'r1' }, n1: { bmc: '10.1.0.1' } });
    const log = (await server.ok('GET', '/tables/auditlog/rows')).auditlog;
    expect(log.findLast(({ status }: { status: string }) => status === 'Denied').args).toBe(
      '-t node -o n2 rack=r1 -t node -o n1 bmc=10.1.0.1',
    );
    await expectDone('PUT', '/nodes', { n2: { rack: '' }, n1: { arch: 'x86_64' } });
  });
});

describe('a rule that refuses some nodes', () => {
  beforeEach(() => rules({ noderange: 'n10', rule: 'deny' }, {}));

  it('refuses what is stored of them, by whichever way', async () => {
    await expectRefused('GET', '/tables/nodetype/rows/node=n10');
    await expectRefused('PUT', '/tables/nodetype/rows/node=n10', { os: 'x' });
    await expectRefused('DELETE', '/tables/nodetype/rows/node=n10');
    await expectRefused('GET', '/nodes/others');
    await expectRefused('GET', '/nodes/others/nodels');
    await expectRefused('PUT', '/groups/mine', { members: 'n1,n2,n3,others' });
  });

  it('refuses tables that tell of every node, and who may do what', async () => {
    for (const table of ['auditlog', 'eventlog', 'discoverydata', 'nodetype']) {
      await expectRefused('GET', `/tables/${table}/rows`);
      if (table !== 'nodetype') await expectRefused('GET', `/tables/${table}/rows/comments=x`);
    }
    await expectRefused('DELETE', '/policy/2');
    await expectRefused('PUT', '/tables/passwd/rows/key=xcat,username=root', { password: 'mine now' });
    await expectRefused('PUT', '/globalconf/attrs/master', { master: '10.66.0.1' });
    await expectDone('GET', '/tables/site/rows');
  });

  it('has rows that are asked for by their values passed over', async () => {
    await server.ok('PUT', '/nodes/n1,n10', { room: 'cellar', slot: '1' });
    expect((await call('GET', '/tables/nodepos/rows/room=cellar/node,slot')).json.nodepos).toEqual([
      { node: 'n1', slot: '1' },
    ]);
    await expectDone('PUT', '/tables/nodepos/rows/room=cellar', { slot: '2' });
    await expectDone('DELETE', '/tables/nodepos/rows/room=cellar');
    await server.ok('PUT', '/nodes/n1', { room: '', slot: '' });
    expect((await server.ok('GET', '/nodes/n10/attrs/room,slot')).n10).toEqual({ room: 'cellar', slot: '1' });
  });
});

describe('groups that a rule names, or that carry attributes,', () => {
  const joins = { ...mine, parameters: '\\b(groups|members|wherevals|grouptype)=' };

  it('change their members only with rights on all of them', async () => {
    await rules(joins, mine);
    await expectRefused('PUT', '/nodes/n1', { groups: 'all,mine,storage' });
    await expectRefused('PUT', '/groups/mine', { members: 'n1,n2,n3,n10' });
    await expectRefused('PUT', '/groups/mine', { grouptype: 'dynamic', wherevals: 'node=~.*' });
    await expectRefused('PUT', '/nodes/n1', { groups: 'all,mine,empty' });
    await expectDone('PUT', '/nodes/n1', { groups: 'all,mine,plain' });
    await expectDone('PUT', '/groups/mine', { members: 'n1,n2,n3' });
    await server.ok('PUT', '/nodes/n1', { groups: 'all,mine' });
  });

  it('may have the name of a node, whose rows they share', async () => {
    await rules(joins, mine);
    await expectRefused('PUT', '/nodes/n1', { groups: 'all,mine,s2' });
    await expectDone('PUT', '/nodes/n1', { groups: 'all,mine,n2' });
    await server.ok('PUT', '/nodes/n1', { groups: 'all,mine' });
  });

  it('do so too when an attribute makes the difference', async () => {
    await rules({ commands, noderange: 'mine,n10' }, { name: 'somebody', noderange: 'racked' });
    await server.ok('PUT', '/nodes/s1', { rack: 'r1' });
    const sentence = await expectRefused('PUT', '/nodes/n1', { rack: 'r1' });
    expect(sentence).not.toContain('s1');
    await server.ok('PUT', '/nodes/s1', { rack: '' });
    await server.ok('PUT', '/nodes/n10', { rack: 'r1' });
    await expectDone('PUT', '/nodes/n1', { rack: 'r1' });
    await server.ok('PUT', '/nodes/n1,n10', { rack: '' });
  });
});

describe('hidden nodes', () => {
  it('are covered by a rule for their group', async () => {
    await server.ok('POST', '/nodes/h1', { groups: 'all,secretive', hidden: '1', rack: 'r9' });
    await server.ok('POST', '/groups/dynamically', { grouptype: 'dynamic', wherevals: 'rack==r9' });
    for (const noderange of ['secretive', 'dynamically', '/h.*', 'nodepos.rack==r9']) {
      await rules({ noderange, rule: 'deny' }, {});
      await expectRefused('GET', '/nodes/h1');
      await expectRefused('PUT', '/nodes/h1', { arch: 'x86_64' });
      await expectRefused('PUT', '/groups/secretive', { arch: 'x86_64' });
    }
    await server.ok('PUT', '/globalconf/attrs/excludenodes', { excludenodes: 'n2' });
    await rules({ noderange: 'mine', rule: 'deny' }, {});
    await expectRefused('GET', '/tables/nodepos/rows/node=n2');
    await server.ok('DELETE', '/globalconf/attrs/excludenodes');
  });
});

describe('what belongs to another node', () => {
  const speaks = {
    ...mine,
    parameters:
      '\\b(bmc|ip|mac|fingerprint|hostkey|serial|mtm|uuid|nextserver|hostnames|otherinterfaces|nicips.*|nicaliases.*|pdu)=',
  };
  beforeAll(async () => {
    await server.ok('PUT', '/nodes/n10', { hostnames: 'login' });
    await server.ok('PUT', '/tables/pduoutlet/nodes/n10', { pduoutlet: { pdu: 'pdu1:3' } });
    await server.ok('PUT', '/tables/vpd/nodes/n10', { vpd: { uuid: '4c4c4544-0031-3510-8054-b3c04f564433' } });
    await server.ok('POST', '/networks/net1', { net: '10.3.0.0', mask: '255.255.0.0', gateway: '10.3.255.254' });
  });

  it.each([
    ['its BMC', '/nodes/n1', { bmc: '10.9.0.10' }],
    ['its address as a BMC', '/nodes/n1', { bmc: '10.2.0.10' }],
    ['its address', '/nodes/n1', { ip: '10.2.0.10' }],
    ['its address as one of IPv6', '/nodes/n1', { ip: '::ffff:10.2.0.10' }],
    ['its BMC as one of IPv6', '/nodes/n1', { bmc: '::FFFF:a09:a' }],
    ['its address at an interface', '/nodes/n1', { 'nicips.eth1': '10.7.0.1|10.2.0.10' }],
    ['its name', '/nodes/n1', { hostnames: 'other,N10.cluster.example' }],
    ['its other name', '/nodes/n1', { 'nicips.eth1': '10.7.0.1', 'nicaliases.eth1': 'login' }],
    ['its name for an interface', '/nodes/n1', { otherinterfaces: 'login:10.7.0.1' }],
    ['its outlet among others', '/tables/pduoutlet/nodes/n1', { pduoutlet: { pdu: 'pdu1:2,pdu1:3' } }],
    ['its BMC as an address', '/nodes/n1', { ip: '10.9.0.10' }],
    ['its MAC', '/nodes/n1', { mac: '52:54:00:00:00:10' }],
    ['its MAC, written otherwise', '/nodes/n1', { mac: '525400000010!alias' }],
    ['its machine', '/nodes/n1', { serial: 'S10', mtm: 'M1' }],
    ['its machine, written otherwise', '/nodes/n1', { serial: 's-10', mtm: 'm1' }],
    ['its UUID, written otherwise', '/tables/vpd/nodes/n1', { vpd: { uuid: '4C4C454400313510-8054-B3C04F564433' } }],
    ['a value computed to be so', '/nodes/n1', { bmc: '|n(\\d+)|10.9.0.($1+9)|' }],
    ['its certificate', '/tables/spcert/nodes/n1', { spcert: { fingerprint: 'AA:BB' } }],
    ['its host key', '/tables/sshhostkey/nodes/n1', { sshhostkey: { hostkey: 'ssh-ed25519 AAAA' } }],
    ['its reservation', '/tables/dhcphost/nodes/n1', { dhcphost: { mac: '52:54:00:00:00:10' } }],
  ])('is not taken without rights on that node: %s', async (_what, path, body) => {
    await rules(speaks, mine);
    const sentence = await expectRefused('PUT', path, body);
    expect(sentence).toContain('it belongs to a node that this needs rights on too');
    expect(sentence.replaceAll(/"n10"/g, '')).not.toContain('n10');
  });

  it('is not taken by its BMC either', async () => {
    await rules(mine);
    for (const [address, whose] of [
      ['10.9.0.10', 'a node'],
      ['10.2.0.10', 'a node'],
      ['::ffff:10.9.0.10', 'a node'],
      ['10.3.255.254', 'the management node or to a gateway'],
      ['127.0.0.1', 'the management node or to a gateway'],
    ] as const) {
      for (const body of [{ value: address }, { ip: address, netmask: '255.255.0.0' }])
        expect(await expectRefused('PUT', '/nodes/n1/sp/ip', body)).toContain(`it belongs to ${whose}`);
    }
    // There is no such device, but it would be asked.
    expect((await call('PUT', '/nodes/n1/sp/ip', { value: '10.9.0.77' })).json.errorcode).toBe(1);
    await rules({ commands, noderange: 'mine,n10' });
    expect((await call('PUT', '/nodes/n1/sp/ip', { value: '10.9.0.10' })).json.errorcode).toBe(1);
    await rules({ commands });
    expect((await call('PUT', '/nodes/n1/sp/ip', { value: '10.3.255.254' })).json.errorcode).toBe(1);
  });

  it('is taken from the management node and from gateways by those alone who may do so with every node', async () => {
    await rules(speaks, mine);
    expect(await expectRefused('PUT', '/nodes/n1', { ip: '10.3.255.254' })).toContain('or to a gateway');
    await rules({ commands });
    await expectDone('PUT', '/nodes/n1', { ip: '10.3.255.254' });
    await server.ok('PUT', '/nodes/n1', { ip: '' });
  });

  it('is taken with rights on both', async () => {
    await rules({ commands, noderange: 'mine,n10', parameters: 'bmc=' });
    await expectDone('PUT', '/nodes/n1', { bmc: '10.9.0.10' });
    await server.ok('PUT', '/nodes/n1', { bmc: '' });
  });

  it('is not known of a name', async () => {
    await rules(speaks, mine);
    expect(await expectRefused('PUT', '/nodes/n1', { bmc: 'bmc10.example.org' })).toContain(
      'nobody knows whose machine',
    );
    expect(await expectRefused('PUT', '/nodes/n1', { mac: '52:54:00:00:00:01!elsewhere' })).toContain(
      'nobody knows whose machine',
    );
    await expectDone('PUT', '/nodes/n1', {
      ip: '10.7.0.1',
      'nicips.eth1': '10.7.0.2',
      mac: '52:54:00:00:00:01|52:54:00:00:00:02!n1-eth1|52:54:00:00:00:03!*NOIP*',
    });
    await server.ok('PUT', '/nodes/n1', { ip: '', 'nicips.eth1': '', mac: '' });
  });

  it('is not copied by a template that may not be read', async () => {
    await rules({ commands: 'mkdef' }, { commands: 'lsdef', noderange: 'mine' });
    const template = (name: string) => ({ options: { '--template': name } });
    const secret = await expectRefused('POST', '/nodes/n20', template('n10'));
    const unknown = await expectRefused('POST', '/nodes/n20', template('n99'));
    expect(secret.replace('n10', 'n99')).toBe(unknown);
    await expectDone('POST', '/nodes/n20', template('n1'));
    await server.ok('DELETE', '/nodes/n20');
    await expectRefused('GET', '/templates/node', template('n10'));
    await rules({ noderange: 'n10', rule: 'deny' }, {});
    await expectRefused('GET', '/templates/node', template('n10'));
    await rules({ commands: 'mkdef' });
    expect(await expectRefused('POST', '/groups/g20', template('storage'))).not.toMatch(/\bs[12]\b/);
  });
});

describe('names outside the domains of the cluster', () => {
  it.each([
    [{ hostnames: 'www.example.org' }],
    [{ hostnames: 'login,WWW.Example.ORG' }],
    [{ otherinterfaces: 'mail.example.org:10.3.0.1' }],
    [{ 'nicips.eth1': '10.3.0.1', 'nicaliases.eth1': 'ntp.example.org' }],
    [{ 'nicips.eth1': '10.3.0.1', 'nichostnamesuffixes.eth1': '.example.org' }],
    [{ 'nicips.www.example.org': '10.3.0.1' }],
  ])('need full rights: %j', async (body) => {
    await rules({ commands });
    expect(await expectRefused('PUT', '/nodes/n1', body)).toMatch(/outside the cluster's domains/);
    await server.ok('PUT', '/nodes/n1', body);
    await expectDone('PUT', '/nodes/n1', { rack: 'r1' });
    await server.ok('POST', '/nodes/n1', { groups: 'all,mine', options: { '-f': '' } });
  });

  it('are those of other domains only', async () => {
    await rules({ commands });
    await expectDone('PUT', '/nodes/n1', {
      hostnames: 'login,login.cluster.example',
      'nicips.bond0.100': '10.3.0.1',
      'nichostnamesuffixes.bond0.100': '-bond0.100',
    });
    await server.ok('POST', '/nodes/n1', { groups: 'all,mine', options: { '-f': '' } });
  });
});

describe('what a limited account learns of other nodes', () => {
  beforeEach(() => rules(mine));

  it('is the same whether or not they exist', async () => {
    for (const [method, tail] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['GET', '/power'],
      ['GET', '/attrs/arch'],
    ] as const) {
      const body = method === 'PUT' ? { rack: 'r1' } : undefined;
      const known = await expectRefused(method, `/nodes/n10${tail}`, body);
      const unknown = await expectRefused(method, `/nodes/n99${tail}`, body);
      expect(known.replaceAll('n10', 'n99')).toBe(unknown);
    }
    const both = await expectRefused('GET', '/nodes/n10,n99');
    expect(both).toBe((await expectRefused('GET', '/nodes/n98,n99')).replaceAll('n98', 'n10'));
    expect(await expectRefused('GET', '/nodes/storage')).toBe(
      (await expectRefused('GET', '/nodes/nosuch')).replaceAll('nosuch', 'storage'),
    );
    expect(await expectRefused('GET', '/groups/storage')).toBe(
      (await expectRefused('GET', '/groups/nosuch')).replaceAll('nosuch', 'storage'),
    );
  });

  it('is the same whatever they are taken out of, or intersected with', async () => {
    const calls = [
      ['GET', ''],
      ['GET', '/nodels'],
      ['GET', '/power'],
      ['PUT', '/power', { action: 'on' }],
      ['PUT', '?dryRun=1', { rack: 'r1' }],
      ['POST', '', { groups: 'mine' }],
    ] as const;
    await server.ok('POST', '/nodes/h1', { groups: 'all,secretive', hidden: '1', options: { '-f': '' } });
    for (const [foreign, unknown] of [
      ['n10', 'n99'],
      ['h1', 'h9'],
      ['others', 'nosuch'],
      ['secretive', 'nosuch'],
      ['empty', 'nosuch'],
    ] as const) {
      for (const range of ['@', 'n1,-@', 'n1@@', 'mine,@', 'mine,-@', '@@mine', '@,-@', 'mine,-(@)']) {
        const named = (name: string) => encodeURIComponent(range.replaceAll(/@(?!m|@)/g, name));
        for (const [method, tail, body] of calls) {
          const known = await call(method, `/nodes/${named(foreign)}${tail}`, body);
          const other = await call(method, `/nodes/${named(unknown)}${tail}`, body);
          expect([known.status, known.text.replaceAll(foreign, unknown)]).toEqual([other.status, other.text]);
        }
      }
      for (const names of [foreign, `mine,${foreign}`]) {
        for (const [method, body] of [['GET'], ['PUT', { os: 'x' }], ['DELETE']] as const) {
          const known = await call(method, `/groups/${names}`, body);
          const other = await call(method, `/groups/${names.replace(foreign, unknown)}`, body);
          expect([known.status, known.text.replaceAll(foreign, unknown)]).toEqual([other.status, other.text]);
        }
      }
    }
  });

  it('is the same when they are named as members', async () => {
    for (const options of [{}, { '-p': '' }, { '-m': '' }]) {
      const named = (members: string) => expectRefused('PUT', '/groups/mine', { members: `n1,${members}`, options });
      const unknown = await named('nosuch');
      for (const members of ['n10', 'others', 'storage', 'empty']) expect(await named(members)).toBe(unknown);
    }
  });

  it('is nothing of the attributes of groups that are named', async () => {
    await server.ok('PUT', '/groups/mine', { mgt: '' });
    const joining = (groups: string) => call('PUT', '/nodes/n1', { groups, bmcport: '6230' });
    expect((await joining('storage')).text).toBe((await joining('plain')).text);
    await server.ok('PUT', '/groups/mine', { mgt: 'ipmi' });
  });

  it('is no value that rows are asked for by', async () => {
    await server.ok('PUT', '/nodes/n1,n10', { room: 'cellar' });
    expect((await call('GET', '/tables/nodepos/rows/room=cellar/node')).json.nodepos).toEqual([{ node: 'n1' }]);
    await server.ok('PUT', '/nodes/n1', { room: '' });
    expect(await expectRefused('GET', '/tables/nodepos/rows/room=cellar')).toBe(
      await expectRefused('GET', '/tables/nodepos/rows/room=attic'),
    );
    await server.ok('PUT', '/nodes/n10', { room: '' });
  });

  it('is no name that a service for the cluster met', async () => {
    await server.ok('POST', '/nodes/n10/host');
    await server.ok('PUT', '/nodes/n1', { ip: '10.2.0.10' });
    const reply = await call('POST', '/nodes/n1/host', {});
    expect(reply.json.error).toEqual([
      'Something of a node that you may not know of stands in the way; ask somebody who has rights on it.',
    ]);
    expect((await server.call('POST', '/nodes/n1/host', { body: {} })).json.error[0]).toContain('node n10 has');
    await server.ok('PUT', '/nodes/n1', { ip: '' });
  });

  it('is the same however many they are', async () => {
    const expecting = (count: string) =>
      server.call('GET', '/nodes/storage', { token: op, headers: { 'X-Expect-Nodes': count } });
    expect((await expecting('2')).text).toBe((await expecting('3')).text);
  });

  it.each([
    'n10,@nodetype.arch==x86_64',
    'n10,@nodetype.arch==ppc64',
    'n10@others',
    'n10@storage',
    'others,@n10',
    'storage,@n10',
    'nodetype.arch==x86_64,@n10',
    '/n10',
    '/n99',
    'ipmi.bmc==10.9.0.10',
    'ipmi.bmc==10.9.0.99',
  ])('does not depend on their attributes and groups: %s selects nothing', async (range) => {
    expect(await expectRefused('GET', `/nodes/${encodeURIComponent(range)}`)).toBe(
      `User "op" may not run lsdef on ${range}: no policy rule allows it.`,
    );
  });

  it.each(['n10,-nodetype.arch==x86_64', 'n10,-nodetype.arch==ppc64', 'n10,-others', 'n10,-storage'])(
    'does not depend on their attributes and groups: %s is refused',
    async (range) => {
      expect(await expectRefused('GET', `/nodes/${encodeURIComponent(range)}`)).toContain('on n10:');
    },
  );

  it('is no name that a criterion or a group found', async () => {
    expect(await expectRefused('GET', '/nodes/others')).toBe(
      'User "op" may not run lsdef on others: no policy rule allows it.',
    );
    await expectDone('GET', '/nodes/mine,@nodetype.arch==x86_64');
    expect(Object.keys((await call('GET', '/nodes/nodelist.groups=~mine')).json)).toEqual(['n1', 'n2', 'n3']);
  });

  it('is nothing without a rule for the command, whatever is asked', async () => {
    await rules({ commands: 'rinv' });
    for (const range of ['n10', 'n99', 'a[1-1000]b[1-999]', '/\\pL{900}', 'nosuch.column==1'])
      expect(await expectRefused('GET', `/nodes/${encodeURIComponent(range)}`)).toMatch(
        /^User "op" may not run lsdef on /,
      );
  });
});

describe("an account's own changes", () => {
  it('are told to it, and none of others, also of nodes that it may see', async () => {
    await rules(mine, { commands: 'lschanges', noderange: 'mine' });
    await server.ok('PUT', '/nodes/n1', { usercomment: 'by root' });
    await expectDone('PUT', '/nodes/n1', { usercomment: 'by op' });
    const own = (await call('GET', '/changes?mine=1')).json.changes;
    expect(own.length).toBeGreaterThan(0);
    expect(new Set(own.map(({ user }: { user: string }) => user))).toEqual(new Set(['op']));
    expect((await call('GET', '/changes?mine=1&user=root')).status).toBe(400);
    await rules(mine);
    expect((await call('GET', '/changes?mine=1')).status).toBe(403);
  });
});

describe('a password in the wrong place', () => {
  it('of a request to a BMC is in no log', async () => {
    await rules(mine);
    await call('PUT', '/nodes/n1/sp/password=misplaced', { value: 'x' });
    await call('PUT', '/nodes/n1/sp/community', { 'community=misplaced': 'x', community: 'y' });
    const log = JSON.stringify(await server.ok('GET', '/tables/auditlog/rows/command=rspconfig'));
    expect(log).not.toContain('misplaced');
  });
});

describe('the policy explains', () => {
  const explain = (query: Record<string, string>, token = server.token) =>
    server.call('GET', '/policy/explain', { token, query });

  it('what every rule says', async () => {
    await rules({ ...mine, host: '10.0.0.9' }, { noderange: 's1', rule: 'deny' }, mine);
    const { json } = await explain({ user: 'op', command: 'chdef', noderange: 'n1,s1', line: '-t node -o n1 rack=r1' });
    expect(json).toEqual({
      allowed: false,
      fullRights: false,
      rule: '3',
      node: 's1',
      why: ['Rule 2 is for requests from 10.0.0.9.', 'Rule 3 refuses it on s1.'],
      trust: {},
    });
    expect((await explain({ user: 'op', command: 'chdef', noderange: 'n1' })).json).toMatchObject({
      allowed: true,
      rule: '4',
    });
    expect((await explain({ user: 'op', command: 'setNodesAttribs', noderange: 'n1' })).json.allowed).toBe(true);
    expect((await explain({ user: 'root', command: 'chdef' })).json).toMatchObject({ allowed: true, fullRights: true });
  });

  it('what decides trust', async () => {
    await rules({ ...mine, parameters: 'mgt=' }, mine);
    const { json } = await explain({
      user: 'op',
      command: 'chdef',
      noderange: 'n1',
      line: '-t node -o n1 bmc=10.1.0.1 mgt=ipmi',
    });
    expect(json.allowed).toBe(false);
    expect(json.trust.mgt).toEqual({ allowed: true, why: ['Rule 2 allows it.'] });
    expect(json.trust.bmc).toEqual({
      allowed: false,
      why: [
        'Rule 2 would allow it, but it is limited to "mine" and its parameters do not name bmc.',
        'Rule 3 would allow it, but it is limited to "mine" and its parameters do not name bmc.',
        'No other rule allows it.',
      ],
    });
  });

  it('itself to those whom it lets', async () => {
    await rules(mine);
    expect((await explain({ user: 'op', command: 'chdef' }, op)).status).toBe(403);
    await rules({ commands: 'lspolicy' });
    expect((await explain({ user: 'op', command: 'lspolicy' }, op)).json.allowed).toBe(true);
    expect((await explain({ user: 'op' })).json.error).toEqual([
      'Say whose rights to show: ?user=NAME&command=COMMAND.',
    ]);
  });
});

// Millions of questions take minutes on any machine; a busy one takes half a minute for thousands.
describe('an operator of thousands of nodes', () => {
  const names = Array.from({ length: 3_000 }, (_, i) => `big${i + 1}`);
  const definitions = (attributes: object) => Object.fromEntries(names.map((name) => [name, attributes]));

  beforeAll(async () => {
    const located = names.map(
      (name, i) => [name, { groups: 'all,crowd', rack: `r${i % 400}`, arch: 'x86_64' }] as const,
    );
    await server.ok('PUT', '/nodes', Object.fromEntries(located));
    await rules({ commands: 'chdef', noderange: 'crowd' });
  });
  afterAll(() => server.ok('DELETE', '/nodes/crowd'));

  it('changes all of them in one request', async () => {
    await expectDone('PUT', '/nodes', definitions({ groups: 'all,crowd', usercomment: 'after' }));
    const refused = await expectRefused('PUT', '/nodes', {
      ...definitions({ usercomment: 'x' }),
      big7: { mgt: 'ipmi' },
    });
    expect(refused).toMatch(/may not change mgt of big7/);
  });

  it('writes what depends on values of their groups', async () => {
    await server.ok('PUT', '/groups/crowd', { mgt: 'ipmi' });
    await expectDone('PUT', '/nodes/crowd', { groups: 'all,crowd', bmcpassword: 'of-crowd', bmcvlantag: '' });
    await server.ok('PUT', '/groups/crowd', { mgt: '' });
  });

  it('changes one of them beside hundreds of rules that choose nodes by the same columns', async () => {
    const priorities = Array.from({ length: 400 }, (_, i) => `20.${1_000 + i}`);
    const others = priorities.map((priority, i) => {
      const noderange = `nodepos.rack==r${i}@nodetype.arch!=aarch64`;
      return [priority, { name: 'other', commands: 'lsdef', noderange, rule: 'allow' }] as const;
    });
    await server.ok('PUT', '/policy', Object.fromEntries(others));
    await expectDone('PUT', '/nodes/big1', { usercomment: 'one' });
    await server.ok('DELETE', `/policy/${priorities.join(',')}`);
  });
});

it('a rule that refuses a command from an address tells nothing of nodes, whatever other rules allow', async () => {
  await rules({ commands: 'tabch', host: '127.0.0.1', rule: 'deny' }, { commands: 'tabch' });
  const write = (range: string) => expectRefused('PUT', `/tables/nodepos/nodes/${range}`, { nodepos: { u: '7' } });
  expect(await write('others')).toBe('User "op" may not run setNodesAttribs on others: no policy rule allows it.');
  expect(await write('nobody')).toBe('User "op" may not run setNodesAttribs on nobody: no policy rule allows it.');
});
