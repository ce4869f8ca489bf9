import { createHmac } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { written } from '../harness/output.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser, defineNodes } from '../harness/users.ts';

interface Push {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // oxlint-disable-next-line no-explicit-any -- events of every shape
  readonly events: any[];
}

const directory = temporaryDirectory();
let server: TestServer;
let receiver: Server;
let port: number;
let pushes: Push[] = [];
let failures = 0;
let attempts = 0;
let silent = 0;

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (request.url === '/silent') {
        silent++;
        return;
      }
      if (request.url === '/elsewhere') {
        response.writeHead(307, { Location: `http://127.0.0.1:${port}/in` }).end();
        return;
      }
      attempts++;
      response.statusCode = failures-- > 0 ? 503 : 204;
      if (response.statusCode === 204) pushes.push({ headers: request.headers, body, events: JSON.parse(body).events });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => receiver.once('listening', resolve));
  ({ port } = receiver.address() as AddressInfo);
  mkdirSync(join(directory, 'hooks'));
  server = await startServer({
    environment: { MUSTER_HOOKS_DIRECTORY: join(directory, 'hooks'), MUSTER_HOOKS_NETWORKS: '127.0.0.1/32' },
  });
  await defineNodes(server, 'n1-n3');
});
afterAll(async () => {
  await server?.stop();
  receiver?.close();
});

const hook = (name: string, columns: object) => server.ok('PUT', `/tables/hooks/rows/name=${name}`, columns);
const removeHook = (name: string) => server.ok('DELETE', `/tables/hooks/rows/name=${name}`);
const told = (): string[] => pushes.flatMap(({ events }) => events.map(({ kind, command }) => command ?? kind));

describe('a hook with a URL', () => {
  it('gets the events it wants, signed', async () => {
    pushes = [];
    await hook('first', {
      url: `http://127.0.0.1:${port}/in`,
      kinds: 'change',
      noderange: 'n1-n2',
      secret: 'key of the hook',
    });
    await server.ok('PUT', '/nodes/n3', { usercomment: 'no' });
    await server.ok('PUT', '/nodes/n1', { status: 'booted' });
    await server.ok('PUT', '/nodes/n2', { usercomment: 'yes' });
    await expect.poll(told).toEqual(['chdef']);
    const { headers, body, events } = pushes[0]!;
    expect(events[0]).toMatchObject({
      kind: 'change',
      rows: [{ table: 'nodelist', nodes: ['n2'], set: { comments: 'yes' } }],
    });
    const [, time, shown] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-muster-signature']))!;
    expect(shown).toBe(createHmac('sha256', 'key of the hook').update(`${time}.${body}`).digest('hex'));
    const { hooks } = await server.ok('GET', '/tables/hooks/rows');
    expect(hooks[0].secret).toBe('********');
    await removeHook('first');
  });

  it('is tried again until it takes them, in their order', async () => {
    pushes = [];
    attempts = 0;
    await hook('second', { url: `http://127.0.0.1:${port}/in`, kinds: 'status' });
    failures = 2;
    await server.ok('PUT', '/nodes/n1', { status: 'ping' });
    await server.ok('PUT', '/nodes/n1', { status: 'booted' });
    await expect
      .poll(() => pushes.flatMap(({ events }) => events.map(({ status }) => status)))
      .toEqual(['ping', 'booted']);
    expect(attempts).toBeGreaterThanOrEqual(3);
    await removeHook('second');
  });

  it('elsewhere than the configuration allows gets nothing, and the log says why', async () => {
    await hook('third', { url: 'http://127.0.0.2:9/', kinds: 'status' });
    await server.ok('PUT', '/nodes/n1', { status: 'ping' });
    await expect.poll(() => server.output()).toContain('outside the networks of receivers');
    await removeHook('third');
  });

  it('that never answers, or sends muster elsewhere, delays no other and is not followed', async () => {
    pushes = [];
    attempts = 0;
    for (let i = 0; i < 20; i++) await hook(`silent${i}`, { url: `http://127.0.0.1:${port}/silent`, kinds: 'status' });
    await hook('elsewhere', { url: `http://127.0.0.1:${port}/elsewhere`, kinds: 'status' });
    await hook('last', { url: `http://127.0.0.1:${port}/in`, kinds: 'status' });
    await server.ok('PUT', '/nodes/n1', { status: 'installing' });
    await server.ok('PUT', '/nodes/n1', { status: 'shell' });
    await expect
      .poll(() => pushes.flatMap(({ events }) => events.map(({ status }) => status)))
      .toEqual(['installing', 'shell']);
    await expect.poll(() => server.output()).toContain('the receiver answered with status 307');
    await expect.poll(() => silent).toBe(20);
    expect(attempts).toBe(pushes.length);
    for (const name of [...Array.from({ length: 20 }, (_, i) => `silent${i}`), 'elsewhere', 'last'])
      await removeHook(name);
  });

  it('is refused with a password in its URL, which is kept nowhere', async () => {
    const urls = [
      'https://u:Hush-1@x/',
      'https://u:Hush/1@x/',
      'https://u:Hush 1@x/',
      'https://Hush-1@x/',
      'ftp://u:Hush@x/',
    ];
    for (const url of urls) {
      const reply = await server.call('PUT', '/tables/hooks/rows/name=bad', { body: { url }, query: { debug: '1' } });
      expect([reply.status, reply.text.includes('Hush')]).toEqual([403, false]);
      const run = await server.call('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
      expect(run.text).not.toContain('Hush');
    }
    const { text } = await server.call('GET', '/tables/auditlog/rows/command=setAttribs');
    expect(text).toContain('hooks.url=https://xxxxxxxx@x/');
    expect(text).not.toContain('Hush');
    expect(await written(server)).not.toContain('Hush');
  });

  it('is refused if it is no URL, or names what does not exist', async () => {
    for (const columns of [
      { url: 'ftp://x/' },
      { url: 'https://u:p@x/' },
      { kinds: 'weather' },
      { command: '../x' },
      { command: 'a b' },
    ]) {
      const reply = await server.call('PUT', '/tables/hooks/rows/name=bad', { body: columns });
      expect([reply.status, columns]).toEqual([403, columns]);
    }
  });
});

describe('a hook with a program', () => {
  it('gives it the events on its standard input, without a shell and without our environment', async () => {
    const out = join(directory, 'out');
    const file = join(directory, 'hooks', 'note');
    writeFileSync(file, `#!/bin/sh\necho "$1 $MUSTER_ROOT_PASSWORD" >> ${out}\ncat >> ${out}\n`);
    chmodSync(file, 0o755);
    await hook('fourth;touch', { command: 'note', kinds: 'status' });
    await server.ok('PUT', '/nodes/n1', { status: 'booted' });
    await expect.poll(() => existsSync(out) && readFileSync(out, 'utf8')).toMatch(/"status":"booted"/);
    expect(readFileSync(out, 'utf8')).toMatch(/^fourth;touch \n/);
    await removeHook('fourth;touch');
  });

  it('is run from that directory only, wherever a link leads', async () => {
    symlinkSync('/bin/true', join(directory, 'hooks', 'away'));
    await hook('fifth', { command: 'away', kinds: 'status' });
    await server.ok('PUT', '/nodes/n1', { status: 'ping' });
    await expect.poll(() => server.output()).toContain('leads out of that directory');
    await removeHook('fifth');
  });
});

it('the table decides trust: a rule for some nodes does not cover it', async () => {
  const token = await addUser(server, 'limited');
  await server.ok('POST', '/policy/70', { name: 'limited', commands: 'tabch,chdef', noderange: 'n1', rule: 'allow' });
  const reply = await server.call('PUT', '/tables/hooks/rows/name=x', { body: { url: 'http://127.0.0.1/' }, token });
  expect(reply.status).toBe(403);
});
