import { rmSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { startServer, temporaryDirectory } from '../harness/server.ts';

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
}, 60_000);
