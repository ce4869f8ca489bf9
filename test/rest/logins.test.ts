import { afterAll, beforeAll, expect, it } from 'vitest';
import { processorTime } from '../harness/processes.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser, logIn, passwordOf } from '../harness/users.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const attempt = (userName: string, userPW: string) =>
  server.call('GET', '/tokens', { token: null, query: { userName, userPW } });

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

it('a password sent with every request is checked once and then costs nothing', async () => {
  await addUser(server, 'often');
  const before = processorTime(server.child.pid!);
  for (let i = 0; i < 50; i++) expect((await attempt('often', passwordOf('often'))).status).toBe(200);
  // Checks of 50 passwords would take several seconds.
  expect(processorTime(server.child.pid!) - before).toBeLessThan(1);
});

it('a changed password counts from the next request on', async () => {
  await addUser(server, 'changing');
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=changing', { password: 'another' });
  expect((await attempt('changing', passwordOf('changing'))).status).toBe(401);
  expect((await attempt('changing', 'another')).status).toBe(200);
});

it('failed logins of one account are slowed, and tokens are not', async () => {
  const victim = await addUser(server, 'victim');
  let latest = 0;
  for (let i = 0; i < 5; i++) {
    latest = await timed(async () => expect((await attempt('victim', `guess ${i}`)).status).toBe(401));
  }
  expect(latest).toBeGreaterThan(400);
  expect(await timed(() => server.ok('GET', '/tokens', undefined, { token: victim }))).toBeLessThan(latest);
  expect(await timed(() => attempt('root', rootPassword))).toBeLessThan(latest);
});

it('many guesses at once are not all checked', async () => {
  await addUser(server, 'besieged');
  const replies = await Promise.all(Array.from({ length: 12 }, (_, i) => attempt('besieged', `guess ${i}`)));
  const statuses = replies.map(({ status }) => status);
  expect(statuses.filter((status) => status === 503).length).toBeGreaterThanOrEqual(4);
  const busy = replies.find(({ status }) => status === 503)!;
  expect(Number(busy.headers['retry-after'])).toBeGreaterThan(0);
  expect(busy.json).toEqual({ error: ['Too many failed logins; wait before you try again.'], errorcode: 5 });
});

it('an address that fails too often has to wait, but for valid tokens', async () => {
  const token = await logIn(server, 'often');
  const statuses = new Set<number>();
  // Not more at once than are checked at all.
  for (let wave = 0; wave < 2; wave++) {
    const names = Array.from({ length: 55 }, (_, i) => `nobody${wave}-${i}`);
    for (const { status } of await Promise.all(names.map((name) => attempt(name, 'guess')))) statuses.add(status);
  }
  expect(statuses).toEqual(new Set([401, 503]));
  const refused = await attempt('often', passwordOf('often'));
  expect(refused.status).toBe(503);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await server.call('GET', '/tokens', { token })).status).toBe(200);
  expect((await server.call('GET', '/nodes')).status).toBe(200);
});
