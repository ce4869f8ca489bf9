import { once } from 'node:events';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { labNode } from '../hardware/nodes.ts';
import { openStream } from '../hardware/stream.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';

let server: TestServer;
const listeners: Server[] = [];

async function listen(address: string, port: number): Promise<void> {
  const listener = createServer().listen(port, address);
  await once(listener, 'listening');
  listeners.push(listener);
}

beforeAll(async () => {
  server = await startServer();
  await Promise.all([listen('127.55.0.1', 22), listen('127.55.0.1', 443)]);
  await server.ok('PUT', '/nodes', {
    busy: { groups: 'all', ip: '127.55.0.1' },
    idle: { groups: 'all', ip: '127.55.0.2', currstate: 'boot' },
    fresh: { groups: 'all', ip: '127.55.0.3' },
    lost: { groups: 'all' },
  });
});
afterAll(async () => {
  for (const listener of listeners) listener.close();
  await server?.stop();
});

const unknown = 'Please make sure lost exists in /etc/hosts or DNS or hosts table';

describe('nodestat', () => {
  test('tells what answers, the boot state of what only lives, and what has no address', async () => {
    expect(await server.ok('GET', '/nodes/busy,idle,fresh,lost/nodestat')).toEqual({
      busy: { nodestat: 'https,sshd' },
      idle: { nodestat: 'ping boot' },
      fresh: { nodestat: 'ping' },
      lost: { nodestat: unknown },
    });
  });

  test('writes nothing when read; the other way keeps what was seen', async () => {
    const status = () => server.ok('GET', '/nodes/busy/attrs/status,appstatus');
    expect(await status()).toEqual({ busy: { status: '', appstatus: '' } });
    expect(await server.ok('PUT', '/nodes/busy/nodestat', {})).toEqual({ busy: { nodestat: 'https,sshd' } });
    expect(await status()).toEqual({
      busy: { status: 'alive', appstatus: 'https=up,msrpc=down,pbs=down,rdp=down,sshd=up,xend=down' },
    });
  });

  test('writes when it was seen, and that also where the site wants no automatic notes', async () => {
    await server.ok('PUT', '/globalconf/attrs/nodestatus', { nodestatus: 'n' });
    await server.ok('PUT', '/nodes/idle,lost/nodestat', {});
    const time = expect.stringMatching(/^\d\d-\d\d-\d{4} \d\d:\d\d:\d\d$/) as string;
    const columns = 'status,statustime,appstatus,appstatustime';
    expect(await server.ok('GET', `/nodes/idle,lost/attrs/${columns}`)).toEqual({
      idle: {
        status: 'alive',
        statustime: time,
        appstatus: 'https=down,msrpc=down,pbs=down,rdp=down,sshd=down,xend=down',
        appstatustime: time,
      },
      lost: { status: '', statustime: '', appstatus: '', appstatustime: '' },
    });
    await server.ok('PUT', '/globalconf/attrs/nodestatus', { nodestatus: 'y' });
  });

  test('looks for the applications of table monsetting when told so', async () => {
    await server.ok('PUT', '/nodes', { quiet: { groups: 'compute', ip: '127.55.0.4' } });
    await Promise.all([listen('127.55.0.1', 9616), listen('127.55.0.4', 9616), listen('127.55.0.4', 7777)]);
    const set = (key: string, value: string) =>
      server.ok('PUT', `/tables/monsetting/rows/name=xcatmon,key=${key}`, { value });
    await set('apps', 'll,mine');
    await set('mine', 'port=7777,group=compute');
    const look = (body: unknown) => server.ok('PUT', '/nodes/busy,quiet/nodestat', body);
    expect(await look({ usemon: 'yes', update: 'no' })).toEqual({
      busy: { nodestat: 'll,sshd' },
      quiet: { nodestat: 'll,mine' },
    });
    expect(await server.ok('GET', '/nodes/quiet/attrs/appstatus')).toEqual({ quiet: { appstatus: '' } });
    await look({ usemon: 'yes' });
    expect(await server.ok('GET', '/nodes/busy,quiet/attrs/appstatus')).toEqual({
      busy: { appstatus: 'll=up,sshd=up' },
      quiet: { appstatus: 'll=up,mine=up,sshd=down' },
    });
    expect(await look({})).toEqual({ busy: { nodestat: 'https,sshd' }, quiet: { nodestat: 'ping' } });
    await set('mine', 'cmd=/bin/true');
    const refused = await server.call('PUT', '/nodes/busy/nodestat', { body: { usemon: 'yes' } });
    expect([refused.status, refused.json.error]).toEqual([403, [expect.stringContaining('cmd= is not supported')]]);
  });

  test('what a policy allows may be looking without writing', async () => {
    await server.ok('POST', '/policy/5', { name: 'eve', commands: 'nodestat', parameters: '^-p$', rule: 'allow' });
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=eve', { password: 'secret' });
    const login = await server.client.call('POST', '/tokens', { body: { userName: 'eve', userPW: 'secret' } });
    const token = login.json.token.id as string;
    const look = async (body: unknown) => (await server.call('PUT', '/nodes/busy/nodestat', { body, token })).status;
    expect(await look({ power: 'yes', update: 'no' })).toBe(200);
    expect(await look({ power: 'yes' })).toBe(403);
    expect(await look({ update: 'no', usemon: 'yes', power: 'yes' })).toBe(403);
  });

  test('finds addresses in the hosts file, of IPv6 too, and looks at several nodes of one address', async () => {
    // What groups make of names of nodes that join later is not known when it is written.
    await server.ok('PUT', '/tables/hosts/rows/node=byname', { ip: '|.*|some.host|' });
    await server.ok('PUT', '/tables/hosts/rows/node=hostile', { ip: '|.*|-h|' });
    await server.ok('PUT', '/nodes', {
      six: { groups: 'all' },
      named: { groups: 'all,byname' },
      long: { groups: 'all', ip: '0:0:0:0:0:0:0:1' },
      twin: { groups: 'all', ip: '127.55.0.1' },
      option: { groups: 'all,hostile' },
    });
    writeFileSync(join(server.data, 'hosts'), 'fd00::7 six\n192.0.2.7 some.host\n');
    const { status, json } = await server.call('GET', '/nodes/six,named/nodestat');
    expect([status, (json.error as string[]).sort()]).toEqual([
      403,
      [
        expect.stringContaining('named: the address 192.0.2.7 is outside'),
        expect.stringContaining('six: the address fd00::7 is outside'),
      ],
    ]);
    expect(await server.ok('GET', '/nodes/long,twin,busy,option/nodestat')).toEqual({
      long: { nodestat: expect.stringMatching(/^(ping|[a-z,]+)$/) as string },
      twin: { nodestat: 'https,sshd' },
      busy: { nodestat: 'https,sshd' },
      option: { nodestat: unknown.replace('lost', 'option') },
    });
  });

  test.each(['0.0.0.0', '224.0.0.1', '255.255.255.255', '::', 'ff02::1', '::ffff:7f00:1'])(
    'does not look at %s',
    async (ip) => {
      await server.ok('PUT', '/nodes', { odd: { groups: 'all', ip } });
      const { status, json } = await server.call('GET', '/nodes/odd/nodestat');
      expect([status, json.error]).toEqual([403, [`odd: its address ${ip} cannot be that of a node.`]]);
    },
  );

  test('looks at nobody outside the networks of nodes', async () => {
    await server.ok('PUT', '/nodes', { far: { groups: 'all', ip: '192.0.2.1' } });
    const { status, text } = await server.call('GET', '/nodes/far,busy/nodestat');
    expect([status, text]).toEqual([403, expect.stringContaining('far: the address 192.0.2.1 is outside')]);
  });

  test('of an unknown node is refused', async () => {
    expect((await server.call('GET', '/nodes/nosuch/nodestat')).status).toBe(404);
    const { status, json } = await server.call('PUT', '/nodes/busy/nodestat', { body: { power: 'maybe' } });
    expect([status, json.error[0]]).toEqual([400, expect.stringContaining('power must be one of "yes", "no".')]);
  });
});

describe('nodestat of nodes that do not answer', () => {
  let far: TestServer;
  let services: RedfishLab;
  const tools = temporaryDirectory();
  const bare = temporaryDirectory();
  const hold = join(tools, 'hold');

  beforeAll(async () => {
    // Everything on loopback answers pings, so here some are not asked: those whose address ends in 9. The second round can be held.
    const holding = `case "$*" in *-r1*) while [ -e '${hold}' ]; do sleep 0.05; done;; esac`;
    writeFileSync(join(tools, 'fping'), `#!/bin/sh\n${holding}\ngrep -v '9$'\nexit 1\n`);
    chmodSync(join(tools, 'fping'), 0o755);
    [far, services] = await Promise.all([
      startServer({ environment: { PATH: `${tools}:${process.env.PATH}` } }),
      startRedfish({ count: 1, prefix: '127.54', kinds: ['plain'] }),
    ]);
    await far.ok('PUT', '/nodes', {
      here: { groups: 'all', ip: '127.55.0.1' },
      gone: labNode('redfish', services.addresses[0]!, { ip: '127.55.0.9' }),
      bare: { groups: 'all', ip: '127.55.0.19' },
    });
    await far.ok('PUT', '/nodes/gone/power', { action: 'off' });
  });
  afterAll(async () => {
    await Promise.all([far?.stop(), services?.stop()]);
    for (const directory of [tools, bare]) rmSync(directory, { recursive: true });
  });

  test('tells so, and that they are unreachable', async () => {
    expect(await far.ok('PUT', '/nodes/here,gone/nodestat', {})).toEqual({
      here: { nodestat: 'https,sshd' },
      gone: { nodestat: 'noping' },
    });
    expect(await far.ok('GET', '/nodes/gone/attrs/status,appstatus')).toEqual({
      gone: { status: 'unreachable', appstatus: 'https=down,msrpc=down,pbs=down,rdp=down,sshd=down,xend=down' },
    });
  });

  test('asks their hardware when told so, and nobody else', async () => {
    expect(await far.ok('PUT', '/nodes/here,gone,bare/nodestat', { power: 'yes', update: 'no' })).toEqual({
      here: { nodestat: 'https,sshd' },
      gone: { nodestat: 'noping(off)' },
      bare: { nodestat: 'noping(nodestat is not possible: its attribute mgt is not set.)' },
    });
  });

  test('a run that is cancelled does not say that they are away', async () => {
    writeFileSync(hold, '');
    const stream = await openStream(far, 'GET', '/nodes/here,gone,bare/nodestat');
    await vi.waitFor(() => expect(stream.lines).toHaveLength(1), 15_000);
    await far.ok('DELETE', `/runs/${stream.run}`);
    rmSync(hold);
    await stream.ended;
    const error = 'the command was cancelled.';
    expect(stream.lines.map(({ json }) => json as unknown)).toEqual([
      { node: 'here', value: { nodestat: 'https,sshd' } },
      { node: 'bare', error },
      { node: 'gone', error },
      { summary: { nodes: 3, ok: 1, failed: 2, errorcode: 1 } },
    ]);
  });

  test('without fping a port that refuses is a sign of life', async () => {
    const blind = await startServer({ environment: { PATH: bare } });
    try {
      await blind.ok('PUT', '/nodes', {
        busy: { groups: 'all', ip: '127.55.0.1' },
        idle: { groups: 'all', ip: '127.55.0.2' },
      });
      expect(await blind.ok('GET', '/nodes/busy,idle/nodestat')).toEqual({
        busy: { nodestat: 'https,sshd' },
        idle: { nodestat: 'ping' },
      });
    } finally {
      await blind.stop();
    }
  });
});
