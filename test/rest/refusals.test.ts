import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { startServer, temporaryDirectory } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

const data = temporaryDirectory();
afterAll(() => rmSync(data, { recursive: true, force: true }));

it('refused logins of one address are two records, the count on disk when the service has stopped', async () => {
  const server = await startServer({ data });
  const ids: string[] = [];
  for (let i = 0; i < 60; i++) {
    const token = i % 3 === 0 ? 'no-such-token' : null;
    const reply = await server.call('GET', '/nodes', { token });
    expect(reply.status).toBe(401);
    ids.push(String(reply.headers['x-request-id']));
  }
  const refused = async () =>
    (await server.ok('GET', '/tables/auditlog/rows/status=Denied%20(authentication)')).auditlog;
  expect(await refused()).toMatchObject([{ comments: ids[0], clientname: '127.0.0.1', command: 'lsdef' }]);
  await server.stop();

  const again = await startServer({ data });
  const { auditlog } = await again.ok('GET', '/tables/auditlog/rows/status=Denied%20(authentication)');
  expect(auditlog).toMatchObject([
    { comments: ids[0] },
    {
      comments: ids[59],
      clientname: '127.0.0.1',
      command: 'lsdef',
      args: expect.stringMatching(/^59 refusals from \S+Z to \S+Z; 59 without an account$/),
    },
  ]);
  await again.stop();
});

it('refusals of an account without rules are not many records, and all are counted when the service has stopped', async () => {
  const own = temporaryDirectory();
  const server = await startServer({ data: own });
  const token = await addUser(server, 'nobody');
  for (let i = 0; i < 150; i++) expect((await server.call('GET', '/nodes/n1', { token })).status).toBe(403);
  const wrong = { token, body: { nosuch: '1' } };
  for (let i = 0; i < 50; i++) expect((await server.call('PUT', '/nodes/n1/power', wrong)).status).toBe(400);
  await server.stop();
  const records = queryOutside(join(own, 'muster.sqlite'), "select * from auditlog where userid = 'nobody'");
  rmSync(own, { recursive: true });
  // The login, and what is written of each kind before it is counted.
  expect(records.length).toBe(1 + 100 + 1 + 1 + 2);
  expect(records.slice(-2).map(({ args }) => args)).toEqual([
    expect.stringMatching(/^49 refusals .*each with the arguments -t node -o n1$/),
    expect.stringMatching(/^49 refusals /),
  ]);
});
