import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { type Rows, resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';

/** Two service nodes in two networks; n1 is in one of them, n2 and n3 are in the other, and what they have comes from a group. */
const rows: Rows = {
  passwd: [
    { key: 'xcat', username: 'root' },
    { key: 'xcat', username: 'operator', password: 'operates' },
  ],
  policy: [{ priority: '1', name: 'root', rule: 'allow' }],
  nodelist: [
    ...['sn1', 'sn2'].map((node) => ({ node, groups: 'service' })),
    ...['n1', 'n2', 'n3'].map((node) => ({ node, groups: 'compute' })),
    { node: 'n4', groups: 'all' },
  ],
  hosts: [
    { node: 'sn1', ip: '10.1.0.1', otherinterfaces: 'sn1-boot:10.2.0.1' },
    { node: 'sn2', ip: '10.1.0.2' },
    { node: 'n1', ip: '10.1.1.1' },
    { node: 'n2', ip: '10.2.1.2' },
    { node: 'n3', ip: '10.2.1.3' },
  ],
  nics: [{ node: 'sn2', nicips: 'eth1!10.2.0.2' }],
  networks: [
    { netname: 'main', net: '10.1.0.0', mask: '255.255.0.0' },
    { netname: 'boot', net: '10.2.0.0', mask: '255.255.0.0' },
  ],
  noderes: [
    {
      node: 'compute',
      servicenode: 'sn1,sn2,sn3',
      xcatmaster: 'sn1-boot',
      tftpserver: '10.2.0.1',
      monserver: 'sn1,sn1-boot',
      nfsserver: 'filer',
    },
  ],
  nodehm: [{ node: 'n2', conserver: 'sn1.cluster.example' }],
  site: [
    { key: 'domain', value: 'cluster.example' },
    { key: 'master', value: '10.1.0.250' },
  ],
};

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
beforeEach(() => resetTo(server, rows));
afterAll(() => server.stop());

const names = 'servicenode,xcatmaster,tftpserver,nfsserver,monserver,conserver';
const attributes = (range: string) => server.ok('GET', `/nodes/${range}/attrs/${names}`);
const untouched = { servicenode: 'sn1,sn2,sn3', xcatmaster: 'sn1-boot', tftpserver: '10.2.0.1' };

/** What a refused request says, and that it has changed nothing. */
async function refusal(path: string, body: object): Promise<string[]> {
  const before = await attributes('n1-n4,sn1,sn2');
  const reply = await server.call('PUT', path, { body });
  expect(errorOf(reply)).toEqual([reply.status, 1]);
  expect(await attributes('n1-n4,sn1,sn2')).toEqual(before);
  return reply.json.error;
}

it('moves nodes to the second of their service nodes, at its address in the network of each, in one change', async () => {
  const tried = await server.ok('PUT', '/nodes/n1,n2/servicenode', {}, { query: { dryRun: '1' } });
  expect(tried.changes.map(({ table, key }: { table: string; key: object }) => [table, key])).toEqual([
    ['noderes', { node: 'n1' }],
    ['noderes', { node: 'n2' }],
    ['nodehm', { node: 'n2' }],
  ]);
  expect(await attributes('n1')).toMatchObject({ n1: untouched });

  const reply = await server.call('PUT', '/nodes/n1,n2/servicenode', { body: {} });
  const own = (address: string) => ({
    servicenode: 'sn2,sn1,sn3',
    xcatmaster: address,
    tftpserver: address,
    monserver: `sn2,${address}`,
  });
  expect(reply.json).toEqual(['n1', 'n2']);
  expect(await attributes('n1-n3')).toMatchObject({
    n1: { ...own('10.1.0.2'), nfsserver: 'filer' },
    n2: { ...own('10.2.0.2'), nfsserver: 'filer', conserver: 'sn2' },
    // What the group has stays as it is.
    n3: untouched,
  });
  await server.ok('POST', `/changes/${String(reply.headers['x-muster-revision'])}/revert`);
  expect(await attributes('n1,n2')).toMatchObject({
    n1: untouched,
    n2: { ...untouched, conserver: 'sn1.cluster.example' },
  });
});

it('moves all nodes of a service node, back too, and changes nothing where there is nothing to change', async () => {
  expect(await server.ok('PUT', '/servicenodes/sn1/nodes', { servicenode: 'sn2' })).toEqual(['n1', 'n2', 'n3']);
  await server.ok('PUT', '/servicenodes/sn2/nodes', { servicenode: 'sn1', xcatmaster: 'sn1-boot' });
  expect(await attributes('n3')).toMatchObject({
    n3: { servicenode: 'sn1,sn2,sn3', xcatmaster: 'sn1-boot', tftpserver: 'sn1-boot' },
  });
  const again = await server.ok(
    'PUT',
    '/nodes/n3/servicenode',
    { servicenode: 'sn1', xcatmaster: 'sn1-boot' },
    { query: { dryRun: '1' } },
  );
  expect(again.changes).toEqual([]);
  expect(await refusal('/servicenodes/sn3/nodes', {})).toEqual([
    'No node has "sn3" as its first service node (servicenode). Nothing was changed.',
  ]);
});

it('gives a node without a service node its first one', async () => {
  await server.ok('PUT', '/nodes/n4/servicenode', { servicenode: 'sn1', xcatmaster: 'sn1-boot' });
  expect(await attributes('n4')).toMatchObject({ n4: { servicenode: 'sn1', xcatmaster: 'sn1-boot', tftpserver: '' } });
});

it('moves servers that are named by the old name of -S', async () => {
  await server.ok('PUT', '/nodes/n1', { nfsserver: 'sn1-old' });
  await server.ok('PUT', '/nodes/n1/servicenode', { servicenode: 'sn2', fromxcatmaster: 'sn1-old' });
  expect(await attributes('n1')).toMatchObject({ n1: { nfsserver: '10.1.0.2', tftpserver: '10.1.0.2' } });
});

it.each([
  [
    'no second service node',
    '/nodes/n1-n4/servicenode',
    {},
    [
      'n4: servicenode is not set, so there is no second one to move to. Name the new one: PUT /nodes/n4/servicenode {"servicenode":"NAME"}.',
    ],
  ],
  [
    'no address of the node',
    '/nodes/n4/servicenode',
    { servicenode: 'sn2' },
    [
      'n4: ip is not set, so muster does not know at which address it reaches sn2. Give the address: PUT /nodes/n4/servicenode {"servicenode":"sn2","xcatmaster":"ADDRESS"}.',
    ],
  ],
  [
    'no address in the network',
    '/nodes/n2,n3/servicenode',
    { servicenode: 'n1' },
    [
      'n2, n3: no address of n1 is known in network boot (10.2.0.0/16), so muster does not know at which address it reaches n1. Give the address: PUT /nodes/n2,n3/servicenode {"servicenode":"n1","xcatmaster":"ADDRESS"}.',
    ],
  ],
  [
    'itself',
    '/nodes/n1,sn2/servicenode',
    { servicenode: 'sn2' },
    ['sn2: it cannot be its own service node. Leave it out of the nodes.'],
  ],
  [
    'another service node than -s says',
    '/nodes/n1,n4/servicenode',
    { from: 'sn1', servicenode: 'sn2' },
    ['n4: its first service node is not sn1. Leave it out of the nodes.'],
  ],
])('refuses all nodes if one has %s', async (_what, path, body, sentences) => {
  expect(await refusal(path, body)).toEqual([...sentences, 'Nothing was changed.']);
});

it('refuses a new service node that nobody knows', async () => {
  expect(await refusal('/nodes/n1/servicenode', { servicenode: 'sn9', xcatmaster: '10.1.0.9' })).toEqual([
    'There is no node "sn9" that could be the new service node. Nothing was changed.',
  ]);
});

it('says what still names the old service node', async () => {
  await server.ok('PUT', '/tables/statelite/rows/node=n2', { statemnt: 'sn1-boot:/persistent' });
  await server.ok('PUT', '/tables/dhcphost/rows/node=n2,mac=52:54:00:00:00:02,ip=10.2.1.2', { nextserver: '10.2.0.1' });
  const reply = await server.call('PUT', '/nodes/n2,n3/servicenode', { body: {} });
  const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
  expect(run.notes).toEqual([
    'DHCP still names the old boot server (tftpserver) of n2: POST /nodes/n2/dhcp.',
    'The table statelite still names the old service node for n2: copy the files to the new one, then change statemnt. GET /tables/statelite/rows shows the rows.',
  ]);
});

it('is allowed by rules that name it, and on a part of the nodes to nobody: it decides whom muster trusts', async () => {
  const rule = (more: object) => server.ok('PUT', '/policy/6', { name: 'operator', rule: 'allow', ...more });
  const call = () =>
    server.call('PUT', '/nodes/n1/servicenode', {
      token: null,
      query: { userName: 'operator', userPW: 'operates' },
      body: { servicenode: 'sn2' },
    });
  await server.ok('POST', '/policy/6', { name: 'operator', commands: 'lsdef', rule: 'allow' });
  expect((await call()).status).toBe(403);
  await rule({ commands: 'snmove', noderange: 'compute,service' });
  const limited = await call();
  expect([limited.status, limited.json.error]).toEqual([
    403,
    [
      'User "operator" may not change servicenode of n1: it decides whom muster trusts, which needs a policy rule for snmove without a noderange.',
    ],
  ]);
  await rule({ commands: 'snmove', noderange: '' });
  expect((await call()).status).toBe(200);
});

it('tells nobody who may not ask which names are service nodes', async () => {
  await server.ok('POST', '/policy/6', { name: 'operator', commands: 'snmove', noderange: 'n4', rule: 'allow' });
  await server.ok('POST', '/policy/7', { name: 'operator', commands: 'lsdef', rule: 'allow' });
  const [known, unknown] = await Promise.all(
    ['sn1', 'nosuch'].map(async (name) => {
      const { status, json } = await server.call('PUT', `/servicenodes/${name}/nodes`, {
        token: null,
        query: { userName: 'operator', userPW: 'operates' },
        body: { servicenode: 'sn2' },
      });
      return [status, json.error.join(' ').replaceAll(name, 'NAME')];
    }),
  );
  expect(known![0]).toBe(403);
  expect(unknown![0]).toBe(403);
});
