import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canBeTried, worksOutside } from '../../src/commands/command.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { errorOf } from '../harness/errors.ts';
import { exampleRows } from '../harness/example-rows.ts';
import { resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { define, labNode } from './nodes.ts';
import { readStream } from './stream.ts';

const sshPort = 2696;
/** Behind these addresses are only counters of what arrives: at the ports of BMCs, and at that of SSH. */
const watched = ['127.96.0.1', '127.96.0.2'];
let arrived = 0;
const closers: (() => void)[] = [];

async function watch(address: string): Promise<void> {
  const udp = createSocket('udp4').on('message', () => void arrived++);
  udp.bind(623, address);
  await once(udp, 'listening');
  closers.push(() => udp.close());
  for (const port of [443, sshPort]) {
    const tcp = createServer((socket) => {
      arrived++;
      socket.destroy();
    });
    tcp.listen(port, address);
    await once(tcp, 'listening');
    closers.push(() => tcp.close());
  }
}

let server: TestServer;
let bmcs: BmcLab;

beforeAll(async () => {
  [server, bmcs] = await Promise.all([
    startServer({ environment: { MUSTER_REMOTE_PORT: String(sshPort) } }),
    startBmcs({ count: 1, prefix: '127.95' }),
    ...watched.map(watch),
  ]);
});
afterAll(async () => {
  for (const close of closers) close();
  await Promise.all([server?.stop(), bmcs?.stop()]);
});

const dry = { query: { dryRun: '1' } };
const tried = async (method: string, path: string, body?: object) =>
  server.call(method, path, { ...dry, ...(body ? { body } : {}) });
const statuses = async (command: string): Promise<string[]> => {
  const rows = (await server.ok('GET', '/tables/auditlog/rows')) as { auditlog: Record<string, string>[] };
  return rows.auditlog.filter((row) => row['command'] === command).map((row) => row['status']!);
};

describe('a dry run', () => {
  beforeAll(async () => {
    await define(server, {
      i1: labNode('ipmi', bmcs.addresses[0]!, { ip: watched[0]!, netboot: 'xnba', arch: 'x86_64' }),
      quiet: labNode('ipmi', watched[1]!, { bmcport: '6230', ip: watched[1]! }),
      red: labNode('redfish', watched[0]!),
      bare: { groups: 'all' },
    });
  });

  it('says whom a power command would be sent to and what is refused, and no BMC hears of it', async () => {
    const { changes } = bmcs.state(0);
    const reply = await tried('PUT', '/nodes/all/power', { action: 'on' });
    expect([reply.status, reply.json]).toEqual([
      200,
      {
        nodes: 4,
        targets: {
          i1: { mgt: 'ipmi', address: bmcs.addresses[0] },
          quiet: { mgt: 'ipmi', address: `${watched[1]}:6230` },
          red: { mgt: 'redfish', address: watched[0] },
        },
        refused: { bare: expect.stringContaining('its attribute mgt is not set') },
      },
    ]);
    expect(reply.text).not.toContain(labNode('ipmi', '')['bmcpassword']!);
    expect(bmcs.state(0)).toMatchObject({ power: 'off', changes });
    expect(arrived).toBe(0);
    expect(await statuses('rpower')).toEqual(['Allowed (dry run)']);
    const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(run).toMatchObject({ state: 'finished', nodes: 4, ok: 3, failed: 1, errorcode: 1 });
    // The same without dryRun reaches it.
    await server.ok('PUT', '/nodes/i1/power', { action: 'on' });
    expect(bmcs.state(0).changes.slice(changes.length)).toEqual(['power=1']);
    await server.ok('PUT', '/nodes/i1/power', { action: 'off' });
  });

  it('comes node by node to clients that want a stream, which ends as that of the work would', async () => {
    const { lines } = await readStream(server, 'PUT', '/nodes/i1,bare/power?dryRun=1', { action: 'on' });
    expect(lines.map(({ json }) => json as unknown)).toEqual([
      { node: 'bare', error: expect.stringContaining('mgt is not set') },
      { node: 'i1', value: { mgt: 'ipmi', address: bmcs.addresses[0] } },
      { summary: { nodes: 2, ok: 1, failed: 1, errorcode: 1 } },
    ]);
  });

  it('of a command in a shell names account and address', async () => {
    const reply = await tried('POST', '/nodes/i1/nodeshell', { command: ['reboot'] });
    expect([reply.status, reply.json]).toEqual([
      200,
      { nodes: 1, targets: { i1: { address: `${watched[0]}:${sshPort}`, user: 'root' } }, refused: {} },
    ]);
    expect(arrived).toBe(0);
  });

  it('is answered at once, also if the client need not wait', async () => {
    const headers = { prefer: 'respond-async' };
    const reply = await server.call('PUT', '/nodes/i1/power', { ...dry, headers, body: { action: 'on' } });
    expect([reply.status, reply.json.nodes]).toEqual([200, 1]);
  });

  it('counts the nodes as X-Expect-Nodes wants', async () => {
    const headers = { 'x-expect-nodes': '7' };
    const reply = await server.call('PUT', '/nodes/i1/power', { ...dry, headers, body: { action: 'on' } });
    expect(reply.status).toBe(417);
  });

  it('shows where a BMC is only to callers who may list the node', async () => {
    const token = await addUser(server, 'op');
    await server.ok('POST', '/policy/5', { name: 'op', commands: 'rpower', noderange: 'i1', rule: 'allow' });
    const as = () => server.call('PUT', '/nodes/i1/power', { ...dry, token, body: { action: 'on' } });
    expect((await as()).json).toMatchObject({ targets: { i1: { mgt: 'ipmi' } } });
    expect((await as()).text).not.toContain(bmcs.addresses[0]!);
    await server.ok('POST', '/policy/6', { name: 'op', commands: 'lsdef', noderange: 'i1', rule: 'allow' });
    expect((await as()).json).toMatchObject({ targets: { i1: { address: bmcs.addresses[0] } } });
    const other = await server.call('PUT', '/nodes/quiet/power', { ...dry, token, body: { action: 'on' } });
    expect(errorOf(other)[0]).toBe(403);
  });

  it('of a boot state shows the rows, and what nodes would get', async () => {
    const reply = await tried('PUT', '/nodes/i1,bare/bootstate', { state: 'shell' });
    expect([reply.status, reply.json]).toEqual([
      200,
      {
        changes: [
          { table: 'chain', key: { node: 'i1' }, before: null, after: { node: 'i1', currstate: 'shell' } },
          { table: 'boottoken', key: { node: 'i1' }, before: null, after: { node: 'i1' } },
        ],
        nodes: 2,
        targets: { i1: { bootstate: 'shell' } },
        refused: { bare: expect.stringContaining('netboot') },
      },
    ]);
    expect(await server.ok('GET', '/nodes/i1/bootstate')).toEqual({ i1: { bootstat: 'offline' } });
    expect((await statuses('nodeset')).filter((status) => status !== 'Allowed')).toEqual(['Allowed (dry run)']);
  });

  it('of provisioning claims no node and boots none', async () => {
    const { changes } = bmcs.state(0);
    const reply = await tried('POST', '/nodes/i1,bare/provision', { state: 'shell' });
    expect([reply.status, reply.json]).toMatchObject([
      200,
      {
        changes: [{ table: 'chain' }, { table: 'boottoken' }],
        targets: { i1: { bootstate: 'shell', mgt: 'ipmi', address: bmcs.addresses[0] } },
        refused: { bare: "Missing the 'netboot' attribute." },
      },
    ]);
    expect(bmcs.state(0)).toMatchObject({ power: 'off', changes });
    // Nobody has it.
    expect((await tried('PUT', '/nodes/i1/provision', { action: 'shell' })).json.refused).toEqual({});
    expect(await server.ok('GET', '/nodes/i1/bootstate')).toEqual({ i1: { bootstat: 'offline' } });
  });

  it.each([
    ['POST', '/services/host'],
    ['POST', '/services/dns'],
    ['POST', '/services/dhcp'],
    ['POST', '/nodes/i1/host'],
    ['GET', '/nodes/i1/answers'],
    ['GET', '/nodes'],
  ])('is refused for what cannot be tried: %s %s', async (method, path) => {
    const reply = await tried(method, path);
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/has no dry run, and nothing was done/);
  });
});

describe('the example of every command on nodes can be tried, and nothing arrives anywhere', () => {
  const rows = endpoints
    .filter(({ command, only }) => only === undefined && worksOutside(command) && canBeTried(command))
    .map((row) => [`${row.method} ${row.path}`, row] as [string, Endpoint]);

  beforeAll(() =>
    resetTo(server, {
      ...exampleRows,
      ipmi: [{ node: 'compute', bmc: '|\\D+(\\d+)$|127.96.0.($1)|', username: 'admin', password: 'secret' }],
      hosts: [{ node: 'compute', ip: '|\\D+(\\d+)$|127.96.0.($1)|' }],
      nodehm: [...exampleRows['nodehm']!, { node: 'chassis1', mgt: 'redfish' }],
      nodelist: [...exampleRows['nodelist']!, { node: 'chassis1', groups: 'all' }],
      // It would ask its nodes what they draw.
      powerbudget: [],
    }),
  );

  /** What they name is not here; the work would be refused as well. */
  const refused = ['POST /nodes/{noderange}/nodecopy', 'POST /nodes/{noderange}/postscript'];

  it.each(rows)('%s', async (name, { method, example }) => {
    const body = example.body === undefined ? {} : { body: example.body };
    const reply = await server.call(method, example.path, { query: { ...example.query, dryRun: '1' }, ...body });
    if (refused.includes(name)) expect(errorOf(reply)).toEqual([403, 1]);
    else expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('"targets":')]);
    expect(arrived).toBe(0);
  });
});
