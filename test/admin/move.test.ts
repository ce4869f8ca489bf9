import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runMuster, startServer, temporaryDirectory } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
let data: string;
const url = () => postgres.url;
const onPostgres = () => ({ MUSTER_DATABASE: url() });
const move = (to: string, environment = {}) => runMuster(['--data', data, 'move', '--to', to], environment);

/** What a server on these data shows of everything that is kept. */
async function shown(environment: Record<string, string> = {}): Promise<unknown> {
  const server = await startServer({ data, environment });
  try {
    const { changes } = await server.ok('GET', '/changes?limit=1000');
    const paths = ['/nodes/ALLRESOURCES', '/tables/nodelist,ipmi,switch,site/rows', '/tables/auditlog/rows?limit=5'];
    const replies = await Promise.all(paths.map((path) => server.call('GET', path)));
    const past = await server.call('GET', '/nodes/n1?revision=3');
    // Whoever looks logs in.
    const others = changes.filter(({ command }: { command: string }) => command !== 'gettoken');
    return { others, past: past.text, all: replies.map(({ status, text }) => [status, text]) };
  } finally {
    await server.stop();
  }
}

beforeAll(async () => {
  postgres = await makePostgres('moved');
  data = temporaryDirectory();
  const server = await startServer({ data });
  await server.ok('PUT', '/nodes', {
    n1: { groups: 'all', mgt: 'ipmi', bmc: '127.0.0.9', bmcpassword: 'secret', switch: 's1', switchport: '1' },
    n2: { groups: 'all', usercomment: '😀, "quoted"\\ ä' },
  });
  await server.ok('POST', '/nodes/n3-n2000', { groups: 'all', rack: 'r1' });
  await server.ok('PUT', '/nodes/n1', { rack: 'r2', switch: '' });
  await server.ok('DELETE', '/nodes/n5');
  await server.stop();
});
afterAll(async () => {
  await postgres?.remove();
  rmSync(data, { recursive: true, force: true });
});

it('moves everything to PostgreSQL and back, and what was there before stays aside', async () => {
  const before = await shown();
  const there = await move(url());
  expect(there).toMatchObject({ code: 0, output: expect.stringContaining('"nodelist": ') });
  expect(existsSync(join(data, 'muster.sqlite'))).toBe(false);
  // Without the setting nobody takes the directory for that of a new cluster.
  const forgotten = await runMuster(['--data', data, '--listen', '127.0.0.1:0']);
  expect(forgotten).toMatchObject({ code: 1, output: expect.stringContaining('muster.sqlite is missing') });
  expect(await shown(onPostgres())).toEqual(before);
  const again = await move('sqlite', onPostgres());
  expect(again.code).toBe(0);
  expect(await shown()).toEqual(before);
  expect(readdirSync(data)).toContain('muster.sqlite.moved');
});

it('moves nothing onto data that are there, or from where there are none', async () => {
  const used = await move(url());
  expect(used).toMatchObject({ code: 1, output: expect.stringContaining('holds the data of a cluster already') });
  expect(existsSync(join(data, 'muster.sqlite'))).toBe(true);
  const back = await move('sqlite', onPostgres());
  expect(back).toMatchObject({ code: 1, output: expect.stringContaining('exists already') });
  expect(await move('sqlite')).toMatchObject({ code: 1, output: expect.stringContaining('in SQLite already') });
  expect(await move('mysql://x/y')).toMatchObject({ code: 1, output: expect.stringContaining('--to takes a URL') });
  expect(await move('postgresql://x@127.0.0.1:9/y')).toMatchObject({ code: 1 });
  expect(readdirSync(data).filter((name) => name.includes('partial'))).toEqual([]);
});
