import type { Agent } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  agentFor,
  call,
  callJson,
  login,
  openSocket,
  readAll,
  type Reply,
  removeDirectory,
  rootPassword,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

const directory = temporaryDirectory();
const shortest = 65_537;
let service: Service;
let agent: Agent;
let token: string;

beforeAll(async () => {
  service = await startService(join(directory, 'data'));
  agent = agentFor(service, { maxSockets: 4 });
  token = await login(service, agent);
  const made = await callJson(service, agent, token, 'POST', '/muster/nodes/n[1-3]', { groups: 'all' });
  expect(made.status).toBe(201);
});
afterAll(async () => {
  agent.destroy();
  await stopService(service);
  removeDirectory(directory);
});

const account = `userName=root&userPW=${rootPassword}`;
const wrongAccount = 'userName=root&userPW=wrong';
const failure = 'Authentication failure';
const whatToDo =
  'With a body of more than 65536 bytes, send the credentials in the header X-Auth-Token or in the query.';

/** A JSON object of this many bytes. */
const padded = (size: number, members: object = { usercomment: 'x' }): string => {
  const text = JSON.stringify(members);
  return text + ' '.repeat(size - text.length);
};

const head = (path: string, ...headers: string[]): string =>
  [`PUT /muster${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', ...headers, '', ''].join('\r\n');
const announcing = (size: number) => `Content-Length: ${size}`;
const chunked = 'Transfer-Encoding: chunked';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const credentials = () => `X-Auth-Token: ${token}`;

interface Answer {
  readonly head: string;
  readonly body: string;
}

/** The next whole answer on a connection, whatever is still to be sent. */
function answerOn(socket: TLSSocket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let text = '';
    const look = (piece: Buffer): void => {
      text += piece.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const answer = { head: text.slice(0, end), body: text.slice(end + 4) };
      const length = Number(/content-length: (\d+)/i.exec(answer.head)?.[1] ?? 0);
      if (answer.body.length < length) return;
      socket.off('data', look);
      resolve(answer);
    };
    socket.on('data', look);
    socket.once('close', () => reject(new Error(`The connection was closed after: ${text}`)));
  });
}

const statusOf = ({ head: lines }: Answer): number => Number(lines.slice(9, 12));
const errorsOf = ({ body }: Answer): string[] => (JSON.parse(body) as { error: string[] }).error;

async function answerTo(text: string): Promise<Answer> {
  const socket = await openSocket(service);
  const answer = answerOn(socket);
  socket.write(text);
  return answer.finally(() => socket.destroy());
}

describe('of a body that is announced as long nothing is read', () => {
  test('from one who shows nowhere who it is; that is answered first', async () => {
    const answer = await answerTo(head('/nodes/n1', announcing(shortest)));
    expect([statusOf(answer), errorsOf(answer)]).toEqual([401, [failure, whatToDo]]);
  });

  test('from one with a wrong token or password', async () => {
    for (const text of [
      head('/nodes/n1', announcing(shortest), 'X-Auth-Token: nonsense'),
      head(`/nodes/n1?${wrongAccount}`, announcing(shortest)),
      head(`/nodes/n1?${account}`, announcing(shortest), 'X-Auth-Token: nonsense'),
    ]) {
      const answer = await answerTo(text);
      expect([statusOf(answer), errorsOf(answer)]).toEqual([
        401,
        [failure, expect.stringMatching(/not (known|right)/)],
      ]);
    }
  });

  test('where it is not wanted at all', async () => {
    expect(statusOf(await answerTo(head('/nothing', announcing(shortest))))).toBe(404);
    expect(statusOf(await answerTo(head('/nodes/n1/nodels', announcing(shortest))))).toBe(405);
    expect(statusOf(await answerTo(head('/nodes/n1?bogus=1', announcing(shortest), credentials())))).toBe(400);
    const health = head('/health', announcing(shortest)).replace('PUT', 'GET');
    expect(statusOf(await answerTo(health))).toBe(200);
  });

  test('but a client that sends it all the same gets its answers, on the same connection', async () => {
    const socket = await openSocket(service);
    for (const [path, size, status] of [
      ['/nodes/n1', 1_000_000, 401],
      ['/nodes', 20_000_000, 401],
      ['/nothing', 1_000_000, 404],
      [`/nodes/n1?${account}`, 1_000_000, 200],
    ] as const) {
      const answer = answerOn(socket);
      socket.write(head(path, announcing(size)) + padded(size));
      expect([path, statusOf(await answer)]).toEqual([path, status]);
    }
    socket.destroy();
  });
});

describe('a long body is read', () => {
  const commentOf = async (): Promise<string> => {
    const reply = await callJson(service, agent, token, 'GET', '/muster/nodes/n1/attrs/usercomment');
    return (JSON.parse(reply.body) as { n1: { usercomment: string } }).n1.usercomment;
  };

  test.each([
    ['a token', () => head('/nodes/n1', announcing(shortest), credentials())],
    ['an account in the query', () => head(`/nodes/n1?${account}`, announcing(shortest))],
  ])('with %s', async (how, begin) => {
    const answer = await answerTo(begin() + padded(shortest, { usercomment: how }));
    expect([statusOf(answer), answer.body]).toEqual([200, '']);
    expect(await commentOf()).toBe(how);
  });

  test('from one who drips it', async () => {
    const socket = await openSocket(service);
    const answer = answerOn(socket);
    const text = padded(shortest, { usercomment: 'dripped' });
    socket.setNoDelay(true);
    socket.write(head('/nodes/n1', announcing(shortest), credentials()));
    for (let at = 0; at < text.length; at += 97) {
      await new Promise((resolve) => socket.write(text.slice(at, at + 97), resolve));
    }
    expect(statusOf(await answer)).toBe(200);
    socket.destroy();
    expect(await commentOf()).toBe('dripped');
  });

  test('a short one may hold the credentials itself', async () => {
    const members = { usercomment: 'short', userName: 'root', userPW: rootPassword };
    expect(statusOf(await answerTo(head('/nodes/n1', announcing(65_536)) + padded(65_536, members)))).toBe(200);
    expect(await commentOf()).toBe('short');
    const longer = await answerTo(head('/nodes/n1', announcing(shortest)) + padded(shortest, members));
    expect([statusOf(longer), errorsOf(longer)]).toEqual([401, [failure, whatToDo]]);
  });
});

describe('a body of unknown length', () => {
  const members = { usercomment: 'chunked', userName: 'root', userPW: rootPassword };

  test('may hold the credentials while it is short', async () => {
    const text = padded(65_536, members);
    const pieces = chunk(text.slice(0, 30)) + chunk(text.slice(30)) + chunk('');
    expect(statusOf(await answerTo(head('/nodes/n1', chunked) + pieces))).toBe(200);
  });

  test('is refused when it gets long without credentials elsewhere', async () => {
    const answer = await answerTo(head('/nodes/n1', chunked) + chunk(padded(shortest, members)));
    expect([statusOf(answer), errorsOf(answer)]).toEqual([401, [failure, whatToDo]]);
    const wrong = await answerTo(head(`/nodes/n1?${wrongAccount}`, chunked) + chunk(padded(shortest, members)));
    expect([statusOf(wrong), errorsOf(wrong)]).toEqual([401, [failure, expect.stringMatching(/not (known|right)/)]]);
  });

  test('may get long with a token', async () => {
    const nodes = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`c${i}`, { groups: 'all', rack: 'r1' }]));
    const text = JSON.stringify(nodes);
    const pieces =
      chunk(text.slice(0, 50_000)) + chunk(text.slice(50_000, 50_001)) + chunk(text.slice(50_001)) + chunk('');
    expect(statusOf(await answerTo(head('/nodes', chunked, credentials()) + pieces))).toBe(200);
    const reply = await callJson(service, agent, token, 'GET', '/muster/nodes/c[0-2999]');
    expect(JSON.parse(reply.body)).toEqual(nodes);
  });
});

describe('a client that waits to be told to go on', () => {
  const waiting = 'Expect: 100-continue';

  test.each([
    ['a short body', () => head('/nodes/n1', announcing(2), waiting), 2, 401],
    [
      'a long body of a known caller',
      () => head('/nodes/n1', announcing(shortest), credentials(), waiting),
      shortest,
      200,
    ],
    ['a long body with a password', () => head(`/nodes/n1?${account}`, announcing(shortest), waiting), shortest, 200],
  ])('is told to for %s', async (_what, begin, size, status) => {
    const socket = await openSocket(service);
    const first = answerOn(socket);
    socket.write(begin());
    expect(statusOf(await first)).toBe(100);
    const second = answerOn(socket);
    socket.write(size === 2 ? '{}' : padded(size));
    expect(statusOf(await second)).toBe(status);
    socket.destroy();
  });

  test('is answered at once if the body is not wanted, and that is all', async () => {
    const refused: [begin: string, status: number][] = [
      [head('/nodes/n1', announcing(shortest), waiting), 401],
      [head('/nodes/n1', announcing(2_000_000), credentials(), waiting), 400],
      [head('/nothing', announcing(2), waiting), 404],
    ];
    const exchange = async (begin: string) => {
      const socket = await openSocket(service);
      const all = readAll(socket, 15_000);
      socket.write(begin);
      return all;
    };
    const exchanges = await Promise.all(refused.map(([begin]) => exchange(begin)));
    for (const [i, { text, closed }] of exchanges.entries()) {
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${refused[i]![1]}`]);
      expect(text).toMatch(/\r\nConnection: close\r\n/);
      expect(closed).toBe(true);
    }
  });
});

describe('what strangers send is bounded', () => {
  const address = '127.0.0.30';
  const body = padded(50_000, { userName: 'root', userPW: rootPassword, usercomment: 'x' });
  const put = (from: Agent, headers: Record<string, string> = {}): Promise<Reply> =>
    call(service, from, 'PUT', '/muster/nodes/n1', {
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    });

  test('for one address, which shuts out neither others nor callers with a token', async () => {
    const near = agentFor(service, { localAddress: address, maxSockets: 1 });
    const unfinished: TLSSocket[] = [];
    const first = '{'.padEnd(64_000);
    for (let i = 0; i < 66; i++) {
      const socket = await openSocket(service, address);
      unfinished.push(socket);
      socket.write(head('/nodes/n1', announcing(65_000)) + first);
    }
    await expect.poll(async () => (await put(near)).status).toBe(503);
    const refused = await put(near);
    expect(refused.headers['retry-after']).toBe('1');
    expect(JSON.parse(refused.body)).toEqual({
      error: [expect.stringMatching(/^Too much is being sent by callers who are not known yet; try again, or send/)],
      errorcode: 5,
    });
    expect((await put(near, { 'X-Auth-Token': token })).status).toBe(200);
    expect((await put(near, { 'X-Auth-Token': 'nonsense' })).status).toBe(401);
    expect((await put(agent)).status).toBe(200);

    // They leave in the middle, and that is all.
    for (const socket of unfinished) socket.destroy();
    await expect.poll(async () => (await put(near)).status).toBe(200);
    near.destroy();
    expect(service.log()).not.toContain('unexpectedly');
  });
});

test('requests that strangers only begin are bounded together', async () => {
  const begun: TLSSocket[] = [];
  for (let i = 0; i < 240; i += 20) {
    const few = await Promise.all(Array.from({ length: 20 }, () => openSocket(service, '127.0.0.31')));
    for (const socket of few) socket.write(`GET /muster/nodes HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(79_000)}`);
    begun.push(...few);
  }
  const left = () => begun.filter((socket) => !socket.destroyed).length;
  await expect.poll(left).toBeLessThan(240);
  expect(left()).toBeGreaterThan(150);
  expect(statusOf(await answerTo(head('/nodes/n1', announcing(2), credentials()) + '{}'))).toBe(200);
  for (const socket of begun) socket.destroy();
});

describe('what known callers send is bounded', () => {
  // Three bytes a value: parsed they take up much more than their text. Three are too much for one user, not for two.
  const heavy = `{${['a', 'b', 'c'].map((name) => `"${name}":{"x":[${'{},'.repeat(290_000)}{}]}`).join()}`;
  const begin = (by: string) => head('/nodes', announcing(heavy.length + 1), `X-Auth-Token: ${by}`) + heavy;

  test('for one user, which does not shut out another', async () => {
    const made = await callJson(service, agent, token, 'PUT', '/muster/tables/passwd/rows/key=xcat,username=other', {
      password: 'others-password',
    });
    expect(made.status).toBe(200);
    const other = await login(service, agent, 'other', 'others-password');
    const sockets = await Promise.all([1, 2, 3].map(() => openSocket(service)));
    const answers = sockets.map((socket) => answerOn(socket).then(statusOf, () => 0));
    for (const socket of sockets) socket.write(begin(token));
    expect(await Promise.race(answers)).toBe(503);
    expect(statusOf(await answerTo(`${begin(other)}}`))).toBe(403);
    for (const socket of sockets) socket.destroy();
    expect((await Promise.all(answers)).filter((status) => status === 503)).toHaveLength(1);
    await expect.poll(async () => statusOf(await answerTo(`${begin(token)}}`))).toBe(403);
  });
});

describe('a long body that is wrong', () => {
  const text = (wrong: string) => `{"n1":{"usercomment":"${'x'.repeat(70_000)}"},${wrong},"n2":{"mgt":"ipmi"}}`;
  test.each([
    ['no JSON', '"n3":sesame', "The body is not JSON: Unexpected token 's' between bytes 70025 and 70056."],
    ['not an object', '"n3":[]', 'The body is not as it should be: n3 must be object.'],
    ['nested', `"n3":${'['.repeat(40)}`, 'The body is nested deeper than 32 levels.'],
  ])('is refused: %s', async (_what, wrong, sentence) => {
    const reply = await call(service, agent, 'PUT', '/muster/nodes', {
      headers: { 'X-Auth-Token': token, 'Content-Type': 'application/json' },
      body: text(wrong),
    });
    expect([reply.status, JSON.parse(reply.body)]).toEqual([400, { error: [sentence], errorcode: 2 }]);
  });
});
