import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openData } from '../../src/access/open-data.ts';
import { createLog } from '../../src/core/log.ts';
import { Questions } from '../../src/database/questions.ts';
import { KeaControl } from '../../src/protocols/kea/control.ts';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makeWire, type Wire } from '../lab/dhcp.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';
import { freePort } from '../names/dns/site.ts';

let postgres: Postgres;
let wire: Wire;
let port: number;
/** mn1 has the hosts file, BIND and Kea; people send their requests to mn2. */
let first: TestServer;
let second: TestServer;
const directories = [temporaryDirectory(), temporaryDirectory()] as const;

const there = `[names]\nserver = "mn1"\n[dhcp]\nserver = "mn1"\n`;

const startFirst = async (config = ''): Promise<void> => {
  first = await startServer({
    data: directories[0],
    config,
    hostname: 'mn1',
    namespace: wire.server,
    environment: {
      MUSTER_DATABASE: postgres.url,
      MUSTER_DHCP_DAEMON: 'process',
      MUSTER_DNS_DAEMON: 'process',
      MUSTER_DNS_LISTEN: `127.0.0.1:${port}`,
    },
  });
};

const hosts = (server: TestServer): string => readFileSync(join(server.data, 'hosts'), 'utf8');
const dig = (name: string): string =>
  wire.server.run('dig', '@127.0.0.1', '-p', String(port), '+short', '+time=2', name).trim();
const control = new KeaControl(join(directories[0], 'dhcp/kea4.sock'));
const reservedMacs = async (): Promise<string[]> =>
  [...JSON.stringify(await control.tell('config-get')).matchAll(/"hw-address":"([\d:]+)"/g)].map(([, mac]) => mac!);

/** As a server would that does not ask the policy. */
async function ask(server: string, topic: string, body: unknown): Promise<unknown> {
  const { store, box } = await openData({ data: directories[1], postgres: { url: postgres.url } });
  const { shared } = store.database;
  const servers = { id: 'another', isAlive: () => Promise.resolve(true) };
  const questions = new Questions({ shared, servers, seal: box, log: createLog('silent') });
  try {
    const known = await shared.list({ kind: 'server', limit: 10 });
    const id = known.find(({ body: note }) => note.includes(`"${server}"`))!.name;
    return await questions.ask(id, topic, body);
  } finally {
    await questions.close();
    await store.close();
  }
}

beforeAll(async () => {
  [postgres, port] = await Promise.all([makePostgres('muster'), freePort()]);
  wire = makeWire(['10.77.0.1/16']);
  for (const data of directories) writeFileSync(join(data, 'hosts'), '127.0.0.1 localhost\n');
  await startFirst();
  cpSync(join(first.data, 'secret.key'), join(directories[1], 'secret.key'));
  const environment = { MUSTER_DATABASE: postgres.url };
  second = await startServer({ data: directories[1], hostname: 'mn2', config: there, environment });
  for (const [name, value] of Object.entries({
    domain: 'cluster.test',
    master: '10.77.0.1',
    forwarders: '127.0.0.1',
    dnsforwardmode: 'only',
  }))
    await second.ok('PUT', `/globalconf/attrs/${name}`, { [name]: value });
  await second.ok('POST', '/networks/mgmt', { net: '10.77.0.0', mask: '255.255.0.0' });
  await second.ok('POST', '/nodes/n1-n3', {
    groups: 'all',
    ip: '|\\D+(\\d+)|10.77.1.($1)|',
    mac: '|\\D+(\\d+)|52:54:01:00:00:0($1)|',
    netboot: 'xnba',
  });
});
afterAll(async () => {
  await Promise.all([first, second].map((server) => server?.stop()));
  wire?.remove();
  await postgres?.remove();
  for (const data of directories) rmSync(data, { recursive: true, force: true });
});

it('the server that has the daemons carries out what another is asked for', async () => {
  await second.ok('POST', '/nodes/n1-n3/host');
  await second.ok('POST', '/services/dns');
  await second.ok('POST', '/services/dhcp');
  await second.ok('POST', '/nodes/n1,n2/dhcp');
  // What the other server has stored for it is to be seen here at once.
  expect((await second.ok('GET', '/tables/dhcphost/rows')).dhcphost).toMatchObject([{ node: 'n1' }, { node: 'n2' }]);
  expect(hosts(first)).toContain('10.77.1.2 n2 n2.cluster.test');
  expect(hosts(second)).toBe('127.0.0.1 localhost\n');
  expect(dig('n1.cluster.test')).toBe('10.77.1.1');
  expect(await reservedMacs()).toEqual(['52:54:01:00:00:01', '52:54:01:00:00:02']);
});

it('the reply, the run and the audit record are those of a server that does it itself', async () => {
  const reply = await second.call('POST', '/nodes/bare,n1/dhcp?debug=1');
  expect([reply.status, reply.json.errorcode]).toEqual([404, 1]);
  await second.ok('POST', '/nodes/bare', { groups: 'all' });
  for (const server of [second, first]) {
    const { debug } = (await server.call('POST', '/nodes/bare/dhcp?debug=1')).json as { debug: string[] };
    expect(debug.at(-1)).toBe('Unable to find mac address for bare');
  }
  // Runs are written twice a second.
  const runs = async () => (await first.ok('GET', '/runs?command=makedns')).runs;
  await expect.poll(runs).toMatchObject([{ command: 'makedns', user: 'root', state: 'finished', errorcode: 0 }]);
  const { auditlog } = await first.ok('GET', '/tables/auditlog/rows');
  const audited = (auditlog as Record<string, string>[]).filter(({ command }) => command === 'makedns');
  expect(audited).toMatchObject([{ status: 'Allowed', userid: 'root' }]);
});

it('leases are read where they are', async () => {
  expect(await wire.ask('52:54:01:00:00:01')).toMatchObject({ ip: '10.77.1.1' });
  expect(await second.ok('GET', '/services/dhcp/leases')).toMatchObject([{ address: '10.77.1.1', network: 'mgmt' }]);
});

it('a boot state that is set at another server brings its reservation', async () => {
  await second.ok('PUT', '/nodes/n3/bootstate', { state: 'boot' });
  expect(await reservedMacs()).toContain('52:54:01:00:00:03');
  await second.ok('PUT', '/nodes/n3/bootstate', { state: 'offline' });
  expect(await reservedMacs()).not.toContain('52:54:01:00:00:03');
});

it('a boot that cannot begin leaves no reservation at the other server', async () => {
  // Nothing listens there.
  const bmc = { mgt: 'redfish', bmc: '127.0.0.1', bmcport: '1', bmcusername: 'admin', bmcpassword: 'secret' };
  await second.ok('PUT', '/nodes/n3', { ...bmc, arch: 'x86_64' });
  const before = await reservedMacs();
  const reply = await second.call('POST', '/nodes/n3/provision', { body: { state: 'boot' } });
  expect(reply.json.error).toEqual([expect.stringMatching(/nothing listens.*It is set to offline, as before\.$/)]);
  expect(await reservedMacs()).toEqual(before);
});

it('the policy is asked at both servers', async () => {
  await second.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'anna-secret' });
  await second.ok('POST', '/policy/5', { name: 'anna', commands: 'makedhcp', noderange: 'n1', rule: 'allow' });
  const anna = (await second.ok('POST', '/tokens', { userName: 'anna', userPW: 'anna-secret' })).token.id as string;
  expect((await second.call('POST', '/nodes/n1/dhcp', { token: anna })).status).toBe(201);
  expect((await second.call('POST', '/nodes/n3/dhcp', { token: anna })).status).toBe(403);
  const permission = { user: 'anna', addresses: ['127.0.0.1'], command: 'makedhcp', words: [], range: 'n3' };
  const order = { command: 'makedhcp', args: { range: 'n3' }, run: 'r1', client: '127.0.0.1', permission };
  await expect(ask('mn1', 'command.dhcp', { revision: 1, order })).rejects.toMatchObject({ kind: 'denied' });
  expect(await reservedMacs()).not.toContain('52:54:01:00:00:03');
});

it('a server that names another one does not do its work', async () => {
  const asked = ask('mn2', 'dhcp.configured', { revision: 1, order: {} });
  await expect(asked).rejects.toThrow(
    'Server mn2 was asked because it has DHCP, but its own setting dhcp.server names mn1, so it refuses.',
  );
});

it('a node that is removed at one server leaves no trace at the other', async () => {
  await second.ok('DELETE', '/nodes/n2');
  await expect.poll(() => hosts(first), { timeout: 20_000 }).not.toContain('n2');
  await expect.poll(() => dig('n2.cluster.test'), { timeout: 20_000 }).toBe('');
  await expect.poll(reservedMacs, { timeout: 20_000 }).toEqual(['52:54:01:00:00:01']);
});

it('nothing of it stays in the database', async () => {
  const left = "select count(*) from muster_shared where kind in ('question', 'answer', 'question-turn')";
  await expect.poll(() => postgres.query(left)).toBe('0');
});

it('while the server with the daemons is away, requests say so and nothing is done', async () => {
  await first.stop();
  const reply = await second.call('POST', '/nodes/n1/host');
  expect([reply.status, reply.headers['x-muster-done'], reply.json.error.join(' ')]).toEqual([
    503,
    'nothing',
    expect.stringMatching(
      /^Server mn1, which has the hosts file and DNS \(setting names.server\), is not connected, and nothing was done\. GET \/servers/,
    ),
  ]);
  const set = await second.call('PUT', '/nodes/n1/bootstate', { body: { state: 'boot' } });
  expect(set.json.error).toEqual([
    expect.stringMatching(
      /^n1: The state is set, but not its DHCP reservation\. Server mn1, which has DHCP \(setting dhcp.server\), is not connected\. /,
    ),
  ]);
  const { n1 } = await second.ok('GET', '/nodes/n1/boot');
  expect(n1.why).toContain('It is not known whether DHCP gave it an address: Server mn1');
  await startFirst();
  await second.ok('POST', '/nodes/n1/host');
});

it('a server that has given its daemons away says that they still run', async () => {
  first.child.kill('SIGKILL');
  await exitOf(first.child);
  await startFirst(there.replaceAll('mn1', 'mn2'));
  for (const [daemon, setting] of [
    ['BIND', 'names.server'],
    ['Kea', 'dhcp.server'],
  ])
    await expect
      .poll(() => first.output())
      .toMatch(new RegExp(`${daemon} runs on this machine.*${setting} names another`));
  await first.stop();
  // Takes them over, and ends with them.
  await startFirst();
});
