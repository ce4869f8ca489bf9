import { connect } from 'node:tls';
import type { WebSocket } from 'ws';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { define, labNodes } from '../hardware/nodes.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { atConsole, ConsoleClient, openConsole, type Opening, until } from './web-socket.ts';

let server: TestServer;
let bmcs: BmcLab;
const tokens: Record<string, string> = {};

/** Accounts by what their rule says. */
const accounts = {
  // Types at s1 only, and reads its log.
  ann: { commands: 'rcons,replaycons,lsconsoles', noderange: 's1' },
  // Looks on only.
  lee: { commands: 'rcons', parameters: '^view$', noderange: 's1,s2' },
  // Nothing of consoles.
  nat: { commands: 'rpower' },
};

beforeAll(async () => {
  [server, bmcs] = await Promise.all([
    startServer({ environment: { MUSTER_IPMI_TIMEOUT: '5' }, config: '[consoles]\nwriteSeconds = 1\n' }),
    startBmcs({ count: 4, prefix: '127.204', serial: (typed) => typed }),
  ]);
  await define(server, labNodes('s', 'ipmi', bmcs.addresses));
  let priority = 10;
  for (const [name, rule] of Object.entries(accounts)) {
    await server.ok('PUT', `/tables/passwd/rows/key=xcat,username=${name}`, { password: 'secret7' });
    await server.ok('PUT', `/tables/policy/rows/priority=${++priority}`, { name, rule: 'allow', ...rule });
    tokens[name] = await logIn(name);
  }
}, 300_000);
afterAll(() => Promise.all([server?.stop(), bmcs?.stop()]));

const logIn = async (name: string): Promise<string> =>
  (await server.ok('POST', '/tokens', { userName: name, userPW: 'secret7' }, { token: null })).token.id;

const refusal = async (path: string, opening?: Opening) => {
  const refused = await openConsole(server, path, opening);
  if (!(refused instanceof ConsoleClient))
    return [refused.status, refused.body.errorcode, refused.body.error.join(' ')];
  await refused.leave();
  return 'let in';
};

it('shows what the machine prints, and types what somebody types', async () => {
  const client = await atConsole(server, '/nodes/s1/console');
  expect(client.state).toMatchObject({
    node: 's1',
    writes: true,
    mayWrite: true,
    way: expect.stringMatching(/^SOL 127\.204\./),
  });
  bmcs.serial(0).print('Debian GNU/Linux 12 s1 ttyS0\r\n\r\nlogin: ');
  await until(() => client.output.endsWith('login: '));
  client.type('root\r');
  await until(() => client.output.endsWith('login: root\r'));
  expect(bmcs.serial(0).typed).toContain('root\r');
  expect(await server.ok('GET', '/nodes/s1/console')).toMatchObject({
    s1: {
      node: 's1',
      state: 'connected',
      kept: false,
      writer: 'root',
      viewers: [{ viewer: 1, user: 'root', writes: true }],
    },
  });
  expect(await server.ok('GET', '/consoles')).toHaveLength(1);
  await client.leave();
  await until(async () => (await server.ok('GET', '/consoles')).length === 0);
  const { s1 } = await server.ok('GET', '/nodes/s1/consolelog');
  expect(s1.map((line: string) => line.slice(25))).toEqual([
    expect.stringMatching(/^-- connected: SOL/),
    'Debian GNU/Linux 12 s1 ttyS0',
    '',
    expect.stringMatching(/^login: /),
  ]);
});

it('judges who asks as every request is judged', async () => {
  const { ann, lee, nat } = tokens;
  for (const token of [null, 'wrong'])
    expect(await refusal('/nodes/s1/console', { token })).toEqual([
      401,
      2,
      expect.stringMatching(/^Authentication failure/),
    ]);
  expect(await refusal('/nodes/s2/console', { token: ann! })).toEqual([
    403,
    2,
    'User "ann" may not run rcons on s2: no policy rule allows it.',
  ]);
  expect(await refusal('/nodes/nosuch/console', { token: ann! })).toEqual([
    403,
    2,
    'User "ann" may not run rcons on nosuch: no policy rule allows it.',
  ]);
  expect((await refusal('/nodes/s1/console', { token: lee! }))[0]).toBe(403);
  expect(await refusal('/nodes/s1/console?view=1', { token: lee! })).toBe('let in');
  expect((await refusal('/nodes/s3/console?view=1', { token: lee! }))[0]).toBe(403);
  expect((await refusal('/nodes/s1/console?view=1', { token: nat! }))[0]).toBe(403);
  expect((await refusal('/nodes/nosuch/console'))[0]).toBe(404);
  expect(await refusal('/nodes/s1,s2/console')).toEqual([
    403,
    1,
    'A console is of one node, and the range has 2. Name one.',
  ]);
  expect((await refusal('/nodes/s1/console?view=yes'))[0]).toBe(400);
  expect((await refusal('/nodes/s1/console?nosuch=1'))[0]).toBe(400);
  expect((await refusal('/nodes/s1/console?view=1&takeover=1'))[0]).toBe(400);
  const basic = { headers: { Authorization: `Bearer ${server.token}` }, token: null };
  expect(await refusal('/nodes/s1/console', basic)).toBe('let in');
  const inQuery = await refusal('/nodes/s1/console?userName=ann&userPW=secret7', { token: null });
  expect(inQuery).toBe('let in');
});

it('says without an upgrade whether the caller may type, and why there is no console', async () => {
  const { ann, lee } = tokens;
  const shown = async (node: string, token?: string) =>
    (await server.call('GET', `/nodes/${node}/console`, token === undefined ? {} : { token })).json;
  expect(await shown('s1', ann)).toMatchObject({ s1: { state: 'closed', mayWrite: true, message: '' } });
  expect(await shown('s1', lee)).toMatchObject({ s1: { mayWrite: false } });
  await server.ok('POST', '/nodes/bare', { groups: 'all' });
  const message = expect.stringContaining('its attribute mgt is not set');
  expect(await shown('s1,bare')).toMatchObject({ s1: { message: '' }, bare: { state: 'closed', message } });
});

it('lets a page of another site open nothing', async () => {
  const from = (origin: string) => refusal('/nodes/s1/console', { headers: { Origin: origin } });
  for (const origin of [
    'https://evil.example',
    'null',
    `https://127.0.0.1:${server.port + 1}`,
    'https://127.0.0.1.evil.example',
  ])
    expect([origin, (await from(origin))[0]]).toEqual([origin, 403]);
  expect(await from(`https://127.0.0.1:${server.port}`)).toBe('let in');
});

it('shows limited accounts the logs and consoles of their nodes alone', async () => {
  const clients = [await atConsole(server, '/nodes/s1/console'), await atConsole(server, '/nodes/s2/console')];
  for (const index of [0, 1]) bmcs.serial(index).print(`secret plan ${index}\r\n`);
  await until(() => clients.every(({ output }) => output.includes('secret plan')));
  const token = tokens['ann']!;
  expect((await server.call('GET', '/consoles', { token })).json.map(({ node }: { node: string }) => node)).toEqual([
    's1',
  ]);
  const found = (await server.call('GET', '/consolelog?search=SECRET%20plan', { token })).json;
  expect(Object.keys(found)).toEqual(['s1']);
  expect(found.s1[0]).toMatch(/secret plan 0$/);
  expect(errorOf(await server.call('GET', '/nodes/s2/consolelog', { token }))).toEqual([403, 2]);
  expect(errorOf(await server.call('GET', '/nodes/s1/consolelog', { token: tokens['nat']! }))).toEqual([403, 2]);
  expect(errorOf(await server.call('GET', '/consoles', { token: tokens['nat']! }))).toEqual([403, 2]);
  expect(Object.keys(await server.ok('GET', '/consolelog?search=secret%20plan'))).toEqual(['s1', 's2']);
  for (const [query, status] of [
    ['since=yesterday', 403],
    ['lines=0', 400],
    ['lines=abc', 400],
    ['lines=200000', 400],
    ['until=1h', 400],
  ] as const)
    expect([query, (await server.call('GET', `/nodes/s1/consolelog?${query}`)).status]).toEqual([query, status]);
  for (const client of clients) await client.leave();
});

it('closes the console of whoever logs out, and of whose right ends', async () => {
  const token = await logIn('ann');
  const [gone, denied] = [
    await atConsole(server, '/nodes/s1/console', { token }),
    await atConsole(server, '/nodes/s1/console?view=1', { token: tokens['lee']! }),
  ];
  await server.call('DELETE', '/tokens', { token });
  await until(() => gone.closed !== undefined);
  expect(gone.end).toBe('Your credentials have ended. Log in again.');
  await server.ok('PUT', '/tables/policy/rows/priority=12', { noderange: 's3' });
  await until(() => denied.closed !== undefined);
  expect(denied.end).toMatch(/^The policy does not allow you this any more/);
  await server.ok('PUT', '/tables/policy/rows/priority=12', { noderange: 's1,s2' });
});

it('notes in the audit log who came, who typed, and who left', async () => {
  const client = await atConsole(server, '/nodes/s3/console', { token: server.token });
  await client.leave();
  await until(async () => {
    const { auditlog } = await server.ok('GET', '/tables/auditlog/rows');
    const own = auditlog.filter(
      ({ command, noderange }: Record<string, string>) => command === 'rcons' && noderange === 's3',
    );
    const args = own.map((row: Record<string, string>) => row['args'] ?? '');
    expect(args).not.toContain('viewer 2 types');
    return args.includes('') && args.includes('viewer 1 types') && args.includes('viewer 1 left');
  });
});

it('refuses what is no handshake, and answers requests without one', async () => {
  const send = (head: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false });
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk)));
      socket.once('close', () => resolve(text));
      socket.write(`${head}\r\nHost: 127.0.0.1:${server.port}\r\nX-Auth-Token: ${server.token}\r\n\r\n`);
      setTimeout(() => socket.end(), 500);
    });
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket';
  expect(await send(`GET /muster/nodes/s1/console HTTP/1.1\r\n${upgrade}`)).toMatch(/^HTTP\/1\.1 400 .*"errorcode":2/s);
  expect(
    await send(
      `GET /muster/nodes/s1/console HTTP/1.1\r\n${upgrade}\r\nSec-WebSocket-Version: 12\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==`,
    ),
  ).toMatch(/^HTTP\/1\.1 400 /);
  const handshake = `${upgrade}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==`;
  expect(await send(`GET /muster/nodes/s1/console HTTP/1.1\r\n${handshake}\r\nSec-WebSocket-Protocol: ,,`)).toMatch(
    /^HTTP\/1\.1 400 .*X-Content-Type-Options.*no list of names/s,
  );
  // Everything else is answered as if it asked for no upgrade.
  expect(await send(`GET /muster/nodes HTTP/1.1\r\n${upgrade}`)).toMatch(/^HTTP\/1\.1 200 /);
  expect(await send(`GET /muster/nodes/s1/console HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c`)).toMatch(
    /^HTTP\/1\.1 200 /,
  );
  expect(await send(`PUT /muster/nodes/s1/console HTTP/1.1\r\n${upgrade}`)).toMatch(/^HTTP\/1\.1 405 /);
});

it('ends whoever sends what no client sends, and nobody else', async () => {
  const good = await atConsole(server, '/nodes/s1/console');
  const hostile: readonly (readonly [string, (socket: WebSocket) => void, number])[] = [
    ['a huge message', (socket) => socket.send(Buffer.alloc(1 << 20)), 1009],
    ['a huge text', (socket) => socket.send(' '.repeat(1 << 20)), 1009],
    ['text that is no JSON', (socket) => socket.send('{'), 1007],
    ['an unknown request', (socket) => socket.send('{"type":"root"}'), 1007],
    ['an unknown member', (socket) => socket.send('{"type":"break","to":1}'), 1007],
    ['a prototype', (socket) => socket.send('{"type":"give","to":1,"__proto__":{"type":"take"}}'), 1007],
    ['a flood of requests', (socket) => Array.from({ length: 100 }, () => socket.send('{"type":"ask"}')), 1008],
  ];
  for (const [name, attack, code] of hostile) {
    const client = await atConsole(server, '/nodes/s1/console');
    attack(client.socket);
    await until(() => client.closed !== undefined);
    expect([name, client.closed]).toEqual([name, code]);
  }
  const flooding = await atConsole(server, '/nodes/s1/console');
  for (let i = 0; i < 2_000; i++) flooding.socket.ping(Buffer.alloc(100));
  flooding.socket.pause();
  good.type('still here\r');
  await until(() => good.output.includes('still here'));
  flooding.socket.terminate();
  await until(async () => (await server.ok('GET', '/nodes/s1/console')).s1.viewers.length === 1);
  await good.leave();
});

it('keeps the consoles of marked nodes, through a restart of the BMC', async () => {
  await server.ok('PUT', '/services/console', { nodes: ['s4'], action: 'on' });
  const state = async () => (await server.ok('GET', '/nodes/s4/console')).s4;
  await until(async () => (await state()).state === 'connected');
  expect(await state()).toMatchObject({ kept: true, viewers: [] });
  bmcs.serial(3).print('before\r\n');
  await bmcs.fault(3, { forget: true });
  const log = async () => (await server.ok('GET', '/nodes/s4/consolelog')).s4.join('\n');
  await until(
    async () => /before\n[^]*not connected[^]*connected/.test(await log()) && (await state()).state === 'connected',
  );
  bmcs.serial(3).print('after\r\n');
  await until(async () => (await log()).endsWith(' after'));
  await server.ok('PUT', '/services/console', { nodes: ['s4'], action: 'off' });
  await until(async () => (await state()).state === 'closed');
  for (const body of [
    { action: 'on' },
    { nodes: [], action: 'on' },
    { nodes: ['s4'], action: 'maybe' },
    { nodes: ['s4'], action: 'on', trust_host: 'x' },
  ])
    expect((await server.call('PUT', '/services/console', { body })).status).toBeGreaterThanOrEqual(400);
});

it('makes an event of a kernel panic', async () => {
  const events = server.call('GET', '/events?kinds=notice&seconds=20');
  const client = await atConsole(server, '/nodes/s2/console');
  bmcs.serial(1).print('[   1.2] Kernel panic - not syncing: VFS\r\n');
  expect((await events).text).toContain(
    'Its console printed \\"[   1.2] Kernel panic - not syncing: VFS\\" (kernel-panic)',
  );
  await client.leave();
});

it('says goodbye when the server stops', async () => {
  const client = await atConsole(server, '/nodes/s1/console');
  bmcs.serial(0).print('the last words\r\n');
  await until(() => client.output.includes('the last words'));
  await server.stop();
  await until(() => client.closed !== undefined);
  expect(client.end).toBe('muster is shutting down. Connect again.');
});
