import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, muster } from '../harness/muster-command.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import type { Step } from '../lab/toil/work.ts';

let server: TestServer;
let env: Record<string, string>;
const scratch = temporaryDirectory();
const flag = (name: string): string => join(scratch, name);
const run = (...words: string[]) => ended(muster, words, env);

beforeAll(async () => {
  server = await startServer({ main: join(import.meta.dirname, '../lab/toil/server.ts') });
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'annas-own' });
  await server.ok('POST', '/policy/5', { name: 'anna', commands: 'toil', rule: 'allow' });
  env = {
    HOME: server.data,
    MUSTER_URL: `https://127.0.0.1:${server.port}`,
    MUSTER_TOKEN: server.token,
    MUSTER_CA: join(server.data, 'tls/ca.pem'),
  };
}, 300_000);
afterAll(() => server?.stop());

/** Begins long work that nobody waits for. */
async function begin(name: string, steps: readonly Step[], token = server.token): Promise<string> {
  const headers = { Prefer: 'respond-async' };
  const reply = await server.call('POST', `/toil/${name}`, { body: { steps }, headers, token });
  expect(reply.status).toBe(202);
  return String(reply.headers['x-muster-run']);
}

/** Follows a run in a process of its own. */
function attach(id: string) {
  const child = spawn(muster, ['runs', 'attach', id], { env: { PATH: process.env['PATH']!, ...env }, stdio: 'pipe' });
  const out = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].on('data', (chunk: Buffer) => (out[stream] += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  const until = async (text: string): Promise<void> => {
    while (!out.stdout.includes(text)) await once(child.stdout, 'data');
  };
  return { child, out, closed, until };
}

describe('a run that is followed', { timeout: 300_000 }, () => {
  it('is told line by line until it ends, whoever began it', async () => {
    const many = Array.from({ length: 60 }, (_, i) => `line ${i}`);
    const id = await begin('followed', [
      { tell: 'first\nsecond' },
      { wait: flag('go-on') },
      { tell: many.join('\n') },
      { say: 'done' },
    ]);
    const { out, closed, until } = attach(id);
    await until('second\n');
    expect((await server.ok('GET', `/runs/${id}`)).state).toBe('running');
    writeFileSync(flag('go-on'), '');
    expect(await closed).toEqual([0, null]);
    expect(out).toEqual({ stdout: ['first', 'second', ...many, ''].join('\n'), stderr: '' });
    expect(await run('runs', 'attach', id)).toEqual({ code: 0, ...out });
  });

  it('ends with 1 if it fails or is cancelled, and says why', async () => {
    const failing = await begin('failing', [
      { tell: 'so far' },
      { wait: flag('fail') },
      { fault: ['invalid', 'It is odd.'] },
    ]);
    const first = attach(failing);
    await first.until('so far\n');
    writeFileSync(flag('fail'), '');
    expect(await first.closed).toEqual([1, null]);
    expect(first.out).toEqual({ stdout: 'so far\n', stderr: 'muster runs: It is odd.\n' });
    const cancelled = await begin('cancelled', [{ tell: 'so far' }, { wait: flag('never') }]);
    const second = attach(cancelled);
    await second.until('so far\n');
    expect((await run('runs', 'cancel', cancelled)).code).toBe(0);
    expect(await second.closed).toEqual([1, null]);
    expect(second.out.stderr).toContain('The run was cancelled.');
  });

  it('goes on when whoever follows it leaves', async () => {
    const id = await begin('left', [{ tell: 'so far' }, { wait: flag('left') }, { tell: 'the end' }]);
    const { child, closed, until } = attach(id);
    await until('so far\n');
    child.kill('SIGINT');
    await closed;
    expect((await server.ok('GET', `/runs/${id}`)).state).toBe('running');
    writeFileSync(flag('left'), '');
    expect((await run('runs', 'attach', id)).stdout).toBe('so far\nthe end\n');
  });

  it('says how many lines are no longer kept', async () => {
    // What is said in one moment is bounded too, so it is said in pieces.
    const pieces = Array.from({ length: 12 }, (_each, piece) =>
      Array.from({ length: 95 }, (_, i) => `piece ${piece} line ${i}`),
    );
    const steps = pieces.flatMap((lines, i): Step[] => [{ tell: lines.join('\n') }, { wait: flag(`piece-${i}`) }]);
    const id = await begin('long', steps);
    for (const i of pieces.keys()) {
      while ((await server.ok('GET', `/runs/${id}`)).progress.line !== `piece ${i} line 94`) await pause(20);
      writeFileSync(flag(`piece-${i}`), '');
    }
    const { code, stdout, stderr } = await run('runs', 'attach', id);
    expect([code, stderr]).toEqual([0, 'muster runs: 140 earlier lines are no longer kept.\n']);
    expect(stdout).toBe([...pieces.flat().slice(140), ''].join('\n'));
  });
});

describe('the list of runs', { timeout: 300_000 }, () => {
  it('tells who does what, since when and how far it is, the newest first', async () => {
    const done = await begin('listed', [{ tell: 'all of it' }]);
    expect((await run('runs', 'attach', done)).code).toBe(0);
    const id = await begin('listed-too', [{ progress: [1, 4] }, { tell: 'a part' }, { wait: flag('listed') }]);
    const { until, closed } = attach(id);
    await until('a part\n');
    const listed = await run('runs', '--state', 'running', '--command', 'toil');
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout).toMatch(new RegExp(`^${id}  toil by root  running, a part  \\S+Z\\n$`));
    const both = JSON.parse((await run('runs', '--command', 'toil', '--limit', '2', '--format', 'json')).stdout);
    expect(both).toMatchObject([
      { id, state: 'running', user: 'root', command: 'toil', progress: { done: 1, of: 4, line: 'a part' } },
      { id: done, state: 'finished', errorcode: 0 },
    ]);
    expect(Object.keys(both[0])).not.toContain('lines');
    const lines = (await run('runs', '--format', 'ndjson', '--command', 'toil', '--limit', '2')).stdout
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(both);
    writeFileSync(flag('listed'), '');
    await closed;
  });

  it('has only their own for those who have not all rights', async () => {
    const account = { userName: 'anna', userPW: 'annas-own' };
    const token = (await server.ok('POST', '/tokens', account, { token: null })).token.id as string;
    const root = await begin('of-root', []);
    const anna = await begin('of-anna', [], token);
    const listed = async (query: string, as: string) =>
      (await server.ok('GET', `/runs?limit=1000${query}`, undefined, { token: as })).runs as {
        id: string;
        user: string;
      }[];
    const annas = await listed('', token);
    expect(annas.map(({ id }) => id)).toContain(anna);
    expect(new Set(annas.map(({ user }) => user))).toEqual(new Set(['anna']));
    expect(await listed('&user=root', token)).toEqual([]);
    const all = (await listed('', server.token)).map(({ id }) => id);
    expect(all).toEqual(expect.arrayContaining([root, anna]));
    expect((await listed('&user=anna&command=toil', server.token)).map(({ id }) => id)).toEqual([anna]);
  });

  it('says what it does not understand', async () => {
    for (const [query, sentence] of [
      ['state=odd', 'state: give one of running, finished, cancelled, interrupted.'],
      ['limit=0', 'limit: give a number from 1 to 1000.'],
    ])
      expect((await server.call('GET', `/runs?${query}`)).json).toMatchObject({ error: [sentence] });
    expect((await run('runs', 'show')).code).toBe(2);
    expect((await run('runs', 'odd', 'x')).code).toBe(2);
    expect((await run('runs', 'show', 'x', '--limit', '1')).code).toBe(2);
    expect((await run('runs', '--state', 'odd')).stderr).toContain('state: give one of');
  });
});
