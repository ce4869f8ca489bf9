import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client, path } from '../../src/cli/client.ts';
import { placeOf } from '../../src/cli/places.ts';
import type { StreamLine } from '../../src/cli/replies.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { type Gate, openGate } from '../lab/gate.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
/** Between the first server and the database. */
let way: Gate;
let first: TestServer;
let second: TestServer;
const scratch = temporaryDirectory();
const gates: Gate[] = [];

const addressOf = ({ port }: { readonly port: number }): string => `https://127.0.0.1:${port}`;
/** Nothing listens there. */
const closed = 'https://127.0.0.1:9';

const environment = (...addresses: readonly string[]): Record<string, string> => ({
  HOME: scratch,
  MUSTER_URL: addresses.join(','),
  MUSTER_TOKEN: second.token,
  MUSTER_CA: join(second.data, 'tls/ca.pem'),
});

const run = (addresses: readonly string[], ...words: string[]) => ended(muster, words, environment(...addresses));

async function gateTo(server: TestServer): Promise<Gate> {
  const gate = await openGate({ host: '127.0.0.1', port: server.port });
  gates.push(gate);
  return gate;
}

const clientOf = (...addresses: readonly string[]): Client => {
  const ca = readFileSync(join(second.data, 'tls/ca.pem'), 'utf8');
  return new Client(() => addresses.map((url) => placeOf(url, {}, { url, token: second.token, ca })));
};

/** How often a change with this comment was committed. */
const commitsOf = async (comment: string): Promise<number> => {
  const { changes } = await second.ok('GET', '/changes?limit=1000');
  return changes.filter((change: object) => JSON.stringify(change).includes(`"${comment}"`)).length;
};

beforeAll(async () => {
  postgres = await makePostgres('muster');
  const socket = `.s.PGSQL.${postgres.port}`;
  const aside = join(scratch, 'pg');
  mkdirSync(aside);
  way = await openGate({ path: join(postgres.directory, socket) }, join(aside, socket));
  const throughGate = postgres.url.replace(encodeURIComponent(postgres.directory), encodeURIComponent(aside));
  first = await startServer({ environment: { MUSTER_DATABASE: throughGate } });
  const data = temporaryDirectory();
  cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
  mkdirSync(join(data, 'tls'));
  for (const name of ['ca.pem', 'ca.key']) cpSync(join(first.data, 'tls', name), join(data, 'tls', name));
  const main = join(import.meta.dirname, '../lab/toil/server.ts');
  second = await startServer({ environment: { MUSTER_DATABASE: postgres.url }, data, main });
  await second.ok('POST', '/nodes/n1-n3000', { groups: 'all' });
}, 120_000);

afterAll(async () => {
  await Promise.all(gates.map((gate) => gate.close()));
  await second?.stop();
  first?.client.close();
  first?.child.kill('SIGKILL');
  await way?.close();
  await postgres?.remove();
});

describe('several addresses', { timeout: 60_000 }, () => {
  it('are asked in their order until one answers, and a warning says which did not', async () => {
    const found = await run([closed, addressOf(second)], 'lsdef', 'n1', '-i', 'groups');
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('groups=all') });
    const changed = await run([closed, addressOf(second)], 'chdef', 'n1', 'usercomment=by-the-second');
    expect(changed.code).toBe(0);
    expect(await commitsOf('by-the-second')).toBe(1);
    const blanks = { ...environment(), MUSTER_URL: ` ${closed} ${addressOf(second)} ` };
    expect(await ended(muster, ['status'], blanks)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`at 127.0.0.1:${second.port}`),
      stderr: expect.stringContaining(
        `Warning: 127.0.0.1:9: Connection refused. 127.0.0.1:${second.port} answered instead.`,
      ),
    });
  });

  it('are passed over by requests that are under way at the same time', async () => {
    const client = clientOf(closed, addressOf(second));
    const asked = Array.from({ length: 5 }, () => client.get(path('nodes', 'n1')));
    expect((await Promise.all(asked)).length).toBe(5);
    client.close();
  });

  it('that all fail are all named, with why', async () => {
    const none = await run([closed, 'https://127.0.0.2:9'], 'status');
    expect(none.code).toBe(3);
    expect(none.stderr).toContain(
      'No server can be reached: 127.0.0.1:9: Connection refused; 127.0.0.2:9: Connection refused.',
    );
    expect(none.stderr).toContain('Start the server there');
    const xcat = await run([closed, 'https://127.0.0.2:9'], 'lsdef');
    expect(xcat).toMatchObject({ code: 111, stderr: expect.stringContaining('127.0.0.2:9: Connection refused') });
  });

  it('are not waited for long where nobody answers', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    expect(await run([addressOf({ port }), addressOf(second)], 'status')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`127.0.0.1:${port}: Connection timed out`),
    });
    silent.close();
  });

  it('are a login together', async () => {
    const home = temporaryDirectory();
    const env = { HOME: home, MUSTER_CA: join(second.data, 'tls/ca.pem') };
    const url = `${closed},${addressOf(second)}`;
    const login = await ended(muster, ['login', url, '--user', 'root', '--password-stdin'], env, 'cluster');
    expect(login).toMatchObject({ code: 0, stdout: expect.stringContaining(`127.0.0.1:9, 127.0.0.1:${second.port}`) });
    expect(await ended(muster, ['lsdef', 'n1', '-i', 'groups'], env)).toMatchObject({ code: 0 });
    const doctor = await ended(muster, ['doctor'], env);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/WRONG {2}reached +no: Connection refused/);
    expect(doctor.stdout).toMatch(/ok +reached +yes, and it is well/);
    expect(await ended(muster, ['logout'], env)).toMatchObject({ code: 0 });
  });
});

describe('a request that changes something', { timeout: 60_000 }, () => {
  it('goes to no other server if it may have arrived', async () => {
    const gate = await gateTo(second);
    gate.keepReplies();
    const sent = run([addressOf(gate), addressOf(first)], 'chdef', 'n1', 'usercomment=only-once');
    await expect.poll(() => commitsOf('only-once')).toBe(1);
    await gate.close();
    const { code, stderr } = await sent;
    expect([code, gate.passed]).toEqual([111, 1]);
    expect(stderr).toContain('may have arrived there, so muster sent it to no other server');
    expect(await commitsOf('only-once')).toBe(1);
  });

  it('goes to the next if the server says that it did nothing, because its database is away', async () => {
    await way.close();
    const refused = await first.call('PUT', '/nodes/n2', { body: { usercomment: 'nowhere' } });
    expect([refused.status, refused.headers['x-muster-done']]).toEqual([503, 'nothing']);
    const both = [addressOf(first), addressOf(second)];
    expect(await run(both, 'chdef', 'n2', 'usercomment=by-the-other')).toMatchObject({ code: 0 });
    expect(await commitsOf('by-the-other')).toBe(1);
    await expect
      .poll(async () => (await run([addressOf(first)], 'status')).stderr)
      .toContain('has not heard from its database for');
    // Scripts, which read what commands of xCAT print, are warned of old data too.
    const listed = await run([addressOf(first)], 'lsdef', 'n1', '-i', 'groups');
    expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('What it shows may be that old.') });
    const neither = await run([addressOf(first), closed], 'chdef', 'n2', 'usercomment=nowhere');
    expect(neither.code).toBe(1);
    expect(neither.stderr).toContain('cannot be used');
    expect(neither.stderr).toContain('muster also tried 127.0.0.1:9: Connection refused.');
    expect(await commitsOf('nowhere')).toBe(0);
  });
});

describe('a reply that breaks off', { timeout: 60_000 }, () => {
  it('is read at the next server', async () => {
    const gate = await gateTo(second);
    gate.cutAfter(100_000);
    const client = clientOf(addressOf(gate), addressOf(second));
    const nodes = (await client.get(path('nodes', 'n1-n3000'))) as object;
    expect([Object.keys(nodes).length, gate.passed]).toEqual([3000, 1]);
    client.close();
  });

  it('goes on as a stream, with each node once', async () => {
    const gate = await gateTo(second);
    gate.cutAfter(100_000);
    const client = clientOf(addressOf(gate), addressOf(second));
    const { lines } = await client.stream('GET', path('nodes', 'n1-n3000'));
    const nodes = (await Array.fromAsync(lines)).flatMap(({ node }) => node ?? []);
    expect([nodes.length, new Set(nodes).size, gate.passed]).toEqual([3000, 3000, 1]);
    expect([...client.notes].join()).toContain('the connection broke off. The rest comes from');
    client.close();
  });

  it('goes on with the run that it was about', async () => {
    const gate = await gateTo(second);
    const client = clientOf(addressOf(gate), addressOf(second));
    const steps = [{ tell: 'one' }, { wait: join(scratch, 'go-on') }, { tell: 'two' }, { say: 'done' }];
    const { lines, run: id } = await client.stream('POST', '/toil/broken', { body: { steps } });
    const seen: StreamLine[] = [];
    for await (const line of lines) {
      seen.push(line);
      if (line.progress?.line !== 'one') continue;
      await gate.close();
      writeFileSync(join(scratch, 'go-on'), '');
    }
    expect([...new Set(seen.flatMap(({ progress }) => progress?.line ?? []))]).toEqual(['one', 'two']);
    expect(seen.at(-1)?.summary).toBeDefined();
    expect((await second.ok('GET', `/runs/${id}`)).state).toBe('finished');
    client.close();
  });
});

// Last: it kills the first server.
it('events go on at the next server when one is killed', { timeout: 60_000 }, async () => {
  const env = { PATH: process.env['PATH']!, ...environment(addressOf(first), addressOf(second)) };
  const child = spawn(muster, ['events', '--kinds', 'change', '--format', 'ndjson'], { env, stdio: 'pipe' });
  let [shown, said] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await expect.poll(() => shown).toContain('"ready"');
  first.child.kill('SIGKILL');
  await second.ok('PUT', '/nodes/n3', { usercomment: 'meanwhile' });
  await expect.poll(() => shown, { timeout: 20_000 }).toContain('meanwhile');
  await second.ok('PUT', '/nodes/n3', { usercomment: 'afterwards' });
  await expect.poll(() => shown).toContain('afterwards');
  child.kill('SIGINT');
  await once(child, 'close');
  expect(said).toContain(`The connection to 127.0.0.1:${first.port} is gone`);
});
