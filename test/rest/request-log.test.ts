import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { removeDirectory } from '../process/process.ts';

const lines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** The line of the reply's request, as soon as it is written. */
async function lineOf(log: () => string, reply: { headers: Record<string, unknown> }) {
  const id = reply.headers['x-request-id'];
  const find = () => lines(log()).find(({ request }) => request === id);
  await expect.poll(find).toBeDefined();
  return find();
}

describe('the log of requests', () => {
  const data = temporaryDirectory();
  const file = join(data, 'logs', 'muster.log');
  const log = () => readFileSync(file, 'utf8');
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ data, environment: { MUSTER_LOG_FILE: file } });
    await server.ok('POST', '/nodes/n1', { groups: 'all', mgt: 'nothing-we-know' });
  });
  afterAll(async () => {
    await server.stop();
    removeDirectory(data);
  });

  it('has a line for each failed login, with who was asked for it and where it came from', async () => {
    for (let i = 0; i < 3; i++) {
      const query = { userName: 'root', userPW: `wrong-${i}` };
      const reply = await server.call('GET', '/nodes', { token: null, query });
      expect(await lineOf(log, reply)).toMatchObject({
        level: 'info',
        client: '127.0.0.1',
        method: 'GET',
        path: '/muster/nodes',
        status: 401,
        command: 'lsdef',
        msg: expect.stringContaining('Authentication failure'),
      });
    }
    expect(log()).not.toContain('wrong-');
  });

  it('has a line for each write, with its user, command and run', async () => {
    const reply = await server.call('PUT', '/nodes/n1', { body: { rack: 'r1' } });
    const run = reply.headers['x-muster-run'];
    const expected = {
      level: 'info',
      user: 'root',
      method: 'PUT',
      path: '/muster/nodes/:noderange',
      range: 'n1',
      status: 200,
      command: 'chdef',
      run,
    };
    expect(await lineOf(log, reply)).toMatchObject(expected);
  });

  it('has a line for what is refused before it is a command', async () => {
    const unknown = await server.call('GET', '/nothing/here');
    expect(await lineOf(log, unknown)).toMatchObject({ status: 404, path: '/muster/nothing/here' });
    const method = await server.call('PATCH', '/nodes/n1');
    expect(await lineOf(log, method)).toMatchObject({ status: 405, method: 'PATCH' });
  });

  it('tells how many nodes a stream failed on', async () => {
    const reply = await server.call('GET', '/nodes/n1/power', { headers: { Accept: 'application/x-ndjson' } });
    expect(reply.status).toBe(200);
    expect(await lineOf(log, reply)).toMatchObject({ level: 'info', status: 200, failed: 1 });
  });

  it('has no line for readings unless one debugs', async () => {
    const read = await server.call('GET', '/nodes/n1');
    await lineOf(log, await server.call('PUT', '/nodes/n1', { body: {} }));
    expect(lines(log()).map(({ request }) => request)).not.toContain(read.headers['x-request-id']);
  });

  it('has readings at debug', async () => {
    const debugging = await startServer({ environment: { MUSTER_LOG_LEVEL: 'debug' } });
    try {
      const reply = await debugging.call('GET', '/nodes');
      expect(await lineOf(debugging.output, reply)).toMatchObject({ level: 'debug', user: 'root', status: 200 });
    } finally {
      await debugging.stop();
    }
  });
});
