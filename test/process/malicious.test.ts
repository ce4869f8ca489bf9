import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Agent } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { processorTime } from '../harness/processes.ts';
import {
  agentFor,
  call,
  callJson,
  login,
  openSocket,
  type Reply,
  readAll,
  removeDirectory,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

const directory = temporaryDirectory();
const ranges = join(directory, 'ranges');
const outside = join(directory, 'outside');
const connectionLimit = 60;
let service: Service;
let agent: Agent;
let token: string;

beforeAll(async () => {
  mkdirSync(ranges);
  mkdirSync(outside);
  service = await startService(join(directory, 'data'), {
    environment: {
      MUSTER_MAX_CONNECTIONS_PER_ADDRESS: String(connectionLimit),
      MUSTER_RANGE_FILES: ranges,
    },
  });
  agent = agentFor(service, { maxSockets: 4 });
  token = await login(service, agent);
  const made = await callJson(service, agent, token, 'POST', '/muster/nodes/n[1-20]', { groups: 'all' });
  expect(made.status).toBe(201);
});

afterAll(async () => {
  agent.destroy();
  await stopService(service);
  removeDirectory(directory);
});

const get = (path: string): Promise<Reply> => callJson(service, agent, token, 'GET', `/muster${path}`);

/** How many ordinary requests with a token are served, one after the other, until `work` ends. */
async function servedDuring(work: Promise<unknown>, ask: () => Promise<Reply>): Promise<number> {
  let done = false;
  let served = 0;
  void work.finally(() => (done = true)).catch(() => undefined);
  do {
    const reply = await ask();
    expect(reply.status).toBe(200);
    if (!done) served++;
    await setTimeout(10);
  } while (!done);
  await work;
  return served;
}

describe.concurrent('clients that never finish what they send', () => {
  // A server of its own: other tests would run into a timeout that is this short.
  const requestTimeout = 4;
  let slow: Service;
  let others: Agent;
  let othersToken: string;
  beforeAll(async () => {
    slow = await startService(join(directory, 'slow'), {
      environment: { MUSTER_REQUEST_TIMEOUT: String(requestTimeout) },
    });
    others = agentFor(slow);
    othersToken = await login(slow, others);
  });
  afterAll(async () => {
    others.destroy();
    await stopService(slow);
  });

  /** Far above that timeout, far below those of Node itself. */
  const untilClosed = (socket: TLSSocket) => readAll(socket, 30_000);

  const halves: [what: string, text: string][] = [
    ['half a request line', 'GET /muster/no'],
    ['half the headers', 'GET /muster/nodes HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['half a body', 'PUT /muster/nodes/n1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a":'],
    ['half a chunk', 'PUT /muster/nodes/n1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{"a":'],
  ];

  test.for(halves)('%s: others are served, and the connection is closed in time', async ([, text]) => {
    const stall = async () => {
      const socket = await openSocket(slow);
      socket.write(text);
      return untilClosed(socket);
    };
    const ends = Promise.all(Array.from({ length: 10 }, stall));
    const ask = () => callJson(slow, others, othersToken, 'GET', '/muster/nodes');
    expect(await servedDuring(ends, ask)).toBeGreaterThan(0);
    for (const { closed } of await ends) expect(closed).toBe(true);
  });

  test('one that leaves in the middle of its body is no error of the server', async () => {
    const socket = await openSocket(slow);
    socket.write('PUT /muster/nodes/n1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a":');
    await setTimeout(100);
    socket.destroy();
    await setTimeout(200);
    expect(slow.log()).not.toContain('unexpectedly');
  });

  test('a drop of one byte now and then does not keep a connection open', async () => {
    const socket = await openSocket(slow);
    const drip = setInterval(() => socket.write('a'), 100);
    socket.write('GET /muster/nodes?x=');
    const { closed } = await untilClosed(socket);
    clearInterval(drip);
    socket.destroy();
    expect(closed).toBe(true);
  });

  test('a connection that never begins with TLS is closed in time', async () => {
    const socket = connect({ host: '127.0.0.1', port: slow.port });
    const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')));
    expect(await Promise.race([closed, setTimeout(30_000)])).toBe('closed');
    socket.destroy();
  });
});

describe('one address with too many connections', () => {
  test('gets no more, keeps those it has, and takes nothing from other addresses', async () => {
    const address = '127.0.0.9';
    const sockets = await Promise.all(Array.from({ length: connectionLimit }, () => openSocket(service, address)));
    await expect(openSocket(service, address)).rejects.toThrow();
    const answers = sockets.slice(0, 5).map((socket) => {
      const answer = new Promise<string>((resolve) =>
        socket.once('data', (chunk: Buffer) => resolve(chunk.toString())),
      );
      socket.write('GET /muster/health HTTP/1.1\r\nHost: x\r\n\r\n');
      return answer;
    });
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect((await get('/nodes/n1')).status).toBe(200);

    sockets[0]!.destroy();
    const another = await vi.waitFor(() => openSocket(service, address), { timeout: 30_000 });
    for (const socket of [...sockets, another]) socket.destroy();
  });
});

describe('1,000 logins with wrong passwords at once', () => {
  const guess = (guesser: Agent, i: number): Promise<Reply> =>
    call(service, guesser, 'GET', '/muster/nodes', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ userName: i % 2 ? 'root' : `user${i}`, userPW: `wrong ${i}` }),
    });

  test('are refused with few checks of passwords, while holders of tokens and others who log in are served', async () => {
    const guesser = agentFor(service, { localAddress: '127.0.0.10', maxSockets: 50 });
    const before = processorTime(service.process.pid!);
    const replies = Promise.all(Array.from({ length: 1_000 }, (_, i) => guess(guesser, i)));
    const elsewhere = agentFor(service, { localAddress: '127.0.0.11', maxSockets: 1 });
    const loggedIn = setTimeout(200).then(() => login(service, elsewhere));
    const served = await servedDuring(replies, () => get('/nodes/n1'));
    const statuses = (await replies).map(({ status }) => status);
    guesser.destroy();
    const checked = statuses.filter((status) => status === 401).length;
    expect(new Set(statuses)).toEqual(new Set([401, 503]));
    expect(checked).toBeLessThanOrEqual(100);
    for (const reply of await replies) {
      if (reply.status === 503) expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(served).toBeGreaterThan(10);
    expect(await loggedIn).toMatch(/^[0-9a-f-]{36}$/);
    elsewhere.destroy();
    expect(processorTime(service.process.pid!) - before).toBeLessThan(20);
  });
});

test.for(['muster.sqlite', 'muster.sqlite-wal', 'muster.sqlite-shm', 'secret.key', 'tls/server.key', 'tls/ca.key'])(
  '%s can be read by the owner alone',
  (file) => {
    expect(statSync(join(service.data, file)).mode & 0o777).toBe(0o600);
  },
);

describe('range files', () => {
  beforeAll(() => {
    writeFileSync(join(ranges, 'good'), '# comment\nn[1-3]\nn7 the rest is ignored\n');
    writeFileSync(join(ranges, 'unknown'), 'n1\nprivateline1\nprivateline2[3-4]\n');
    writeFileSync(join(ranges, 'broken'), 'n1\nprivateline[9-1]\nprivateline((\n');
    writeFileSync(join(outside, 'secret'), 'n1\nprivateline3\n');
    mkdirSync(`${ranges}-beside`);
    writeFileSync(join(`${ranges}-beside`, 'file'), 'n1\n');
    symlinkSync(join(outside, 'secret'), join(ranges, 'link'));
    symlinkSync(outside, join(ranges, 'linked'));
    execFileSync('mkfifo', [join(ranges, 'pipe')]);
  });

  const names = async (file: string): Promise<unknown> =>
    JSON.parse((await get(`/nodes/${encodeURIComponent(`^${file}`)}/nodels`)).body);

  test('are read inside the directory', async () => {
    expect(await names(join(ranges, 'good'))).toEqual(['n1', 'n2', 'n3', 'n7']);
  });

  test.for([
    ['a link to a file outside', join(ranges, 'link')],
    ['a file behind a link to a directory outside', join(ranges, 'linked/secret')],
    ['dots that lead out', `${ranges}/../outside/secret`],
    ['a directory whose name only begins alike', `${ranges}-beside/file`],
    ['a file elsewhere', '/etc/passwd'],
    ['a relative path', '../outside/secret'],
    ['a file that is not there', join(ranges, 'absent')],
    ['the directory itself', ranges],
    ['a pipe, which would never end', join(ranges, 'pipe')],
    ['a device', '/dev/zero'],
    ['a NUL', `${ranges}/good\u0000`],
  ] as const)('%s selects nothing', async ([, file]) => {
    expect(await names(file)).toEqual([]);
  });

  test.for(['unknown', 'broken'])('with %s names in it are refused without a word of their lines', async (file) => {
    const range = encodeURIComponent(`^${join(ranges, file)}`);
    const replies = await Promise.all([
      get(`/nodes/${range}`),
      get(`/nodes/${range}/nodels`),
      get(`/nodes/${range}/attrs/groups`),
      get(`/tables/nodelist/nodes/${range}`),
      callJson(service, agent, token, 'PUT', `/muster/nodes/${range}`, { arch: 'x86_64' }),
      callJson(service, agent, token, 'POST', `/muster/nodes/${range}`, { groups: 'all' }),
      callJson(service, agent, token, 'DELETE', `/muster/nodes/${range}`),
    ]);
    for (const { status, body } of replies) {
      expect([403, 404]).toContain(status);
      expect(body).not.toContain('privateline');
    }
    expect((await get('/nodes')).body).not.toContain('privateline');
  });
});

describe('requests that two servers would read in different ways', () => {
  const inner =
    'POST /muster/nodes/smuggled HTTP/1.1\r\nHost: x\r\nX-Auth-Token: TOKEN\r\nContent-Length: 16\r\n\r\n{"groups":"all"}';
  const put = 'PUT /muster/nodes/n1 HTTP/1.1\r\nHost: x\r\n';
  const requests: [what: string, text: string][] = [
    ['a length and chunks', `${put}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
    ['chunks and a length', `${put}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n${inner}`],
    ['two lengths', `${put}Content-Length: 0\r\nContent-Length: 5\r\n\r\n${inner}`],
    ['a length with a sign', `${put}Content-Length: +0\r\n\r\n${inner}`],
    ['a length in hexadecimal', `${put}Content-Length: 0x0\r\n\r\n${inner}`],
    ['an unknown transfer encoding', `${put}Transfer-Encoding: xchunked\r\n\r\n${inner}`],
    ['chunks that are not the last encoding', `${put}Transfer-Encoding: chunked, identity\r\n\r\n${inner}`],
    ['a blank before the colon', `${put}Content-Length : 0\r\n\r\n${inner}`],
    ['a folded header', `${put}X-A: b\r\n Content-Length: 0\r\n\r\n${inner}`],
    ['a header of bare line feeds', `${put.replaceAll('\r', '')}Content-Length: 0\n\n${inner}`],
    ['a NUL in a header', `${put}X-A: \u0000\r\n\r\n${inner}`],
    ['a chunk size that is none', `${put}Transfer-Encoding: chunked\r\n\r\nzz\r\n${inner}`],
    ['a chunk longer than it says', `${put}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n${inner}`],
    ['an unknown protocol', 'GET /muster/nodes FTP/1.1\r\n\r\n'],
    ['a method that is none', 'GE(T /muster/nodes HTTP/1.1\r\nHost: x\r\n\r\n'],
  ];

  test.for(requests)('%s: refused, and nothing after it is read as a request', async ([, text]) => {
    const socket = await openSocket(service);
    socket.write(text.replaceAll('TOKEN', token));
    const { text: reply, closed } = await readAll(socket, 5_000);
    socket.destroy();
    expect(closed).toBe(true);
    expect(reply.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
    expect(JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')))).toEqual({ error: [expect.any(String)], errorcode: 2 });
    expect((await get('/nodes')).body).not.toContain('smuggled');
  });

  test('a request without a host is refused', async () => {
    const socket = await openSocket(service);
    socket.write('GET /muster/nodes HTTP/1.1\r\nConnection: close\r\n\r\n');
    const { text } = await readAll(socket, 5_000);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('{"error":["The header Host is missing."],"errorcode":2}');
  });

  test('the host header that a proxy was told does not change what is served', async () => {
    const socket = await openSocket(service);
    socket.write(
      `GET /muster/nodes/n1 HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil\r\nConnection: close\r\nX-Auth-Token: ${token}\r\n\r\n`,
    );
    const { text } = await readAll(socket, 5_000);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).not.toContain('evil');
  });
});

describe('text that tries to become a header of the reply', () => {
  const hostile = '%0d%0aX-Injected:%201%0d%0a%0d%0a';
  const requests: [method: string, path: string][] = [
    ['GET', `/nodes/${hostile}`],
    ['GET', `/nodes/n1${hostile}/nodels`],
    ['POST', `/nodes/x${hostile}`],
    ['PUT', `/networks/${hostile}`],
    ['GET', `/tables/${hostile}/rows`],
    ['GET', `/tables/site/rows/key=${hostile}`],
    ['GET', `/runs/${hostile}`],
    ['GET', `/nothing${hostile}`],
    ['PATCH', `/nodes/${hostile}`],
    ['GET', `/nodes?x${hostile}=1`],
    ['GET', `/nodes/n1?userName=${hostile}&userPW=x`],
    ['GET', `/nodes/%E5%98%8A%E5%98%8DX-Injected:1`],
  ];

  test.for(requests)('%s %s', async ([method, path]) => {
    const socket = await openSocket(service);
    const body = JSON.stringify({ groups: 'a\r\nX-Injected: 1', net: '10.0.0.0\r\nX-Injected: 1', mask: '255.0.0.0' });
    socket.write(
      `${method} /muster${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${path.includes('userPW') ? '' : `X-Auth-Token: ${token}\r\n`}` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const { text } = await readAll(socket, 5_000);
    socket.destroy();
    const [head = '', ...rest] = text.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(head).not.toMatch(/injected/i);
    expect(rest).toHaveLength(1);
    expect(Object.keys(JSON.parse(rest[0]!) as object)).toEqual(['error', 'errorcode']);
  });
});
