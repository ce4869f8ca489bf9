import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import type { Step } from '../lab/toil/work.ts';

let server: TestServer;
const scratch = temporaryDirectory();
const flag = (name: string): string => join(scratch, name);
const raise = (name: string): void => writeFileSync(flag(name), '');

beforeAll(async () => {
  server = await startServer({ main: join(import.meta.dirname, '../lab/toil/server.ts') });
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'annas-own' });
  await server.ok('POST', '/policy/5', { name: 'anna', commands: 'toil', rule: 'allow' });
});
afterAll(() => server.stop());

const ndjson = { headers: { Accept: 'application/x-ndjson' } };
const async = { headers: { Prefer: 'respond-async' } };
const toil = (name: string, steps: readonly Step[], options: Parameters<TestServer['call']>[2] = {}) =>
  server.call('POST', `/toil/${name}`, { body: { steps }, ...options });
const runOf = (reply: { headers: Record<string, unknown> }): string => String(reply.headers['x-muster-run']);
// oxlint-disable-next-line no-explicit-any -- tests look into replies of every shape
async function ended(run: string): Promise<any> {
  for (;;) {
    const shown = await server.ok('GET', `/runs/${run}`);
    if (shown.state !== 'running') return shown;
    await pause(20);
  }
}
const annasToken = async (): Promise<string> =>
  (await server.ok('POST', '/tokens', { userName: 'anna', userPW: 'annas-own' }, { token: null })).token.id;

describe('long work', () => {
  test('is waited for by a plain request, changes the database under the name of its run and stays in the run', async () => {
    const reply = await toil('plain', [
      { tell: 'first\nsecond' },
      { progress: [1, 4] },
      { program: ['echo', 'from a program'] },
      { say: 'well done' },
      { profile: 'made by toil' },
    ]);
    expect([reply.status, reply.json]).toEqual([201, ['well done']]);
    expect(await server.ok('GET', '/osimages/plain')).toMatchObject({ plain: { profile: 'made by toil' } });
    expect(await server.ok('GET', `/runs/${runOf(reply)}`)).toMatchObject({
      command: 'toil',
      state: 'finished',
      errorcode: 0,
      progress: { done: 1, of: 4, line: 'from a program' },
      lines: ['first', 'second', 'from a program'],
    });
    const revision = (await server.call('GET', '/nodes')).headers['x-muster-revision'];
    expect(reply.headers['x-muster-revision']).toBe(revision);
  });

  test('sends its lines as they come, then its answer and the summary', async () => {
    const reply = await toil('stream', [{ progress: [1, 2] }, { tell: 'half' }, { say: 'ok' }], ndjson);
    expect(reply.headers['content-type']).toBe('application/x-ndjson');
    const lines = reply.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      { progress: { done: 1, of: 2, line: 'half' } },
      { value: 'ok' },
      { summary: { nodes: 0, ok: 0, failed: 0, errorcode: 0 } },
    ]);
  });

  test('that fails tells the Fault as it was thrown, to whoever waits and in the run', async () => {
    const steps: Step[] = [{ tell: 'so far' }, { fault: ['garbled', 'The medium is odd.', 'Try another.'] }];
    const plain = await toil('fails', steps);
    expect(errorOf(plain)).toEqual([418, 1]);
    expect(plain.json.error).toEqual(['The medium is odd.', 'Try another.']);
    expect(await server.ok('GET', `/runs/${runOf(plain)}`)).toMatchObject({
      state: 'finished',
      errorcode: 1,
      error: ['The medium is odd.', 'Try another.'],
    });
    const stream = await toil('fails', steps, ndjson);
    expect(
      stream.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { progress: { done: 0, of: 1, line: 'so far' } },
      { error: ['The medium is odd.', 'Try another.'], errorcode: 1 },
      { summary: { nodes: 0, ok: 0, failed: 0, errorcode: 1 } },
    ]);
  });

  test.each(['/muster', '/xcatws'])('at %s is begun and left alone by who prefers that', async (root) => {
    const name = `later${root.slice(1)}`;
    const reply = await toil(name, [{ wait: flag(name) }, { profile: 'later' }], { ...async, root });
    expect([reply.status, reply.text]).toEqual([202, '']);
    expect(reply.headers['preference-applied']).toBe('respond-async');
    expect(reply.headers['location']).toBe(`${root}/runs/${runOf(reply)}`);
    expect(await server.ok('GET', `/runs/${runOf(reply)}`)).toMatchObject({ state: 'running' });
    raise(name);
    expect(await ended(runOf(reply))).toMatchObject({ state: 'finished', errorcode: 0 });
    expect(await server.ok('GET', `/osimages/${name}`)).toMatchObject({ [name]: { profile: 'later' } });
  });

  test('that is refused is an ordinary error, whatever the client prefers', async () => {
    for (const options of [{}, ndjson, async]) {
      const reply = await toil('forbidden', [], options);
      expect(errorOf(reply)).toEqual([403, 1]);
    }
    expect(errorOf(await toil('x', [], { query: { dryRun: 1 } }))).toEqual([403, 1]);
  });

  test('goes on when its client leaves', async () => {
    const leaving = await server.client.connect();
    const body = JSON.stringify({ steps: [{ wait: flag('left') }, { profile: 'went on' }] });
    leaving.write(
      `POST /muster/toil/left HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: ${server.token}\r\nAccept: application/x-ndjson\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const head = await new Promise<string>((resolve) =>
      leaving.once('data', (chunk: Buffer) => resolve(chunk.toString())),
    );
    const run = /x-muster-run: (\S+)/i.exec(head)![1]!;
    leaving.destroy();
    raise('left');
    expect(await ended(run)).toMatchObject({ state: 'finished', errorcode: 0 });
    expect(await server.ok('GET', '/osimages/left')).toMatchObject({ left: { profile: 'went on' } });
  });

  test('is cancelled with its run: programs end, stagings go, and the client is told', async () => {
    const place = join(scratch, 'cancelled');
    mkdirSync(place);
    const waiting = toil('cancelled', [{ staging: place }, { tell: 'staged' }, { program: ['sleep', '3600'] }]);
    const sleeping = toil('other', [{ program: ['sleep', '3601'] }], async);
    let run: string | undefined;
    while (run === undefined) {
      const [name] = readdirSync(place);
      run = name === undefined ? undefined : /^\.muster-(.*)-1$/.exec(name)![1];
      await pause(10);
    }
    await server.ok('DELETE', `/runs/${run}`);
    const reply = await waiting;
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual(['The run was cancelled.']);
    expect(await ended(run)).toMatchObject({ state: 'cancelled', error: ['The run was cancelled.'] });
    expect(readdirSync(place)).toEqual([]);
    expect(existsSync(join(server.data, 'long-work', `${run}.json`))).toBe(false);
    const other = runOf(await sleeping);
    expect(await server.ok('GET', `/runs/${other}`)).toMatchObject({ state: 'running' });
    await server.ok('DELETE', `/runs/${other}`);
    await ended(other);
  });

  test('is done once at a time on one thing; a second caller is told who works on it, and its run if that may be seen', async () => {
    const token = await annasToken();
    const first = runOf(await toil('one', [{ wait: flag('one') }], { ...async, token }));
    const mine = await toil('one', [], { token });
    expect(errorOf(mine)).toEqual([409, 1]);
    expect(mine.json.error[0]).toMatch(
      new RegExp(`^User "anna" has been working on toil one with toil since \\d{4}-\\S+Z, run ${first};`),
    );
    expect((await toil('one', [])).json.error[0]).toContain(first);
    expect(errorOf(await toil('one', [], { root: '/xcatws' }))).toEqual([403, 1]);
    raise('one');
    await ended(first);
    const roots = runOf(await toil('one', [{ wait: flag('none') }], async));
    const refused = await toil('one', [], { token });
    expect(refused.json.error[0]).toMatch(/^User "root" has been working on toil one with toil since \S+Z; try again/);
    const unknown = await server.call('DELETE', `/runs/${roots}`, { token });
    expect(errorOf(unknown)).toEqual([404, 1]);
    expect(await server.ok('GET', `/runs/${roots}`)).toMatchObject({ state: 'running' });
    await server.ok('DELETE', `/runs/${roots}`);
    await ended(roots);
  });
});
