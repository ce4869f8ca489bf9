import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { processesWith, until } from '../harness/processes.ts';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import type { Step } from '../lab/toil/work.ts';

const data = temporaryDirectory();
const place = join(data, 'install');
const main = join(import.meta.dirname, '../lab/toil/server.ts');
let server: TestServer | undefined;
afterAll(async () => {
  await server?.stop();
  rmSync(data, { recursive: true, force: true });
});

const start = (): Promise<TestServer> => startServer({ data, main });

const begin = async (name: string, steps: readonly Step[]): Promise<string> => {
  const reply = await server!.call('POST', `/toil/${name}`, { body: { steps }, headers: { Prefer: 'respond-async' } });
  expect(reply.status).toBe(202);
  return String(reply.headers['x-muster-run']);
};

async function auditedStatuses(): Promise<string[]> {
  const { auditlog } = await server!.ok('GET', '/tables/auditlog/rows');
  return auditlog
    .filter((row: Record<string, string>) => row['command'] === 'toil')
    .map((row: Record<string, string>) => row['status']);
}

test('after a kill everything that long work had started and staged is gone, and its run is interrupted', async () => {
  mkdirSync(join(place, 'kept'), { recursive: true });
  writeFileSync(join(place, 'kept/file'), 'content');
  mkdirSync(join(place, '.muster-of-somebody-1'));
  server = await start();
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'annas-own' });
  const seconds = `36${process.pid}`;
  // The shell's own child would outlive it, and lives in another session.
  const script = `setsid sleep ${seconds} & sleep ${seconds}`;
  const run = await begin('killed', [{ staging: place }, { program: ['sh', '-c', script] }]);
  await until(() => processesWith(seconds).length === 2);
  const staging = join(place, `.muster-${run}-1`);
  expect(readdirSync(staging).sort()).toEqual(['file', 'link']);

  server.client.close();
  server.child.kill('SIGKILL');
  await exitOf(server.child);
  await until(() => processesWith(seconds).length === 0 && processesWith(childProgram).length === 0);
  expect(existsSync(staging)).toBe(true);

  server = await start();
  const interrupted = { command: 'toil', user: 'root', state: 'interrupted', errorcode: 5 };
  const shown = await server.ok('GET', `/runs/${run}`);
  expect(shown).toMatchObject(interrupted);
  expect(shown.error[0]).toContain('killed');
  const token = (await server.ok('POST', '/tokens', { userName: 'anna', userPW: 'annas-own' }, { token: null })).token
    .id;
  expect((await server.call('GET', `/runs/${run}`, { token })).status).toBe(404);
  await until(() => !existsSync(staging));
  expect(readdirSync(place).sort()).toEqual(['.muster-of-somebody-1', 'kept']);
  expect(readFileSync(join(place, 'kept/file'), 'utf8')).toBe('content');
  expect(await auditedStatuses()).toEqual(['Allowed', 'Interrupted']);
  // The same can be asked for again.
  expect(await server.ok('POST', '/toil/killed', { steps: [{ say: 'done' }] })).toEqual(['done']);
});

const childProgram = join(import.meta.dirname, '../../src/work/child.ts');

test('a stop ends long work at once, and the next muster shows it as interrupted too', async () => {
  server ??= await start();
  const run = await begin('stopped', [{ staging: place }, { program: ['sleep', '3600'] }]);
  const staging = join(place, `.muster-${run}-1`);
  await until(() => existsSync(staging));
  await server.stop();
  expect(existsSync(staging)).toBe(false);
  server = await start();
  expect(await server.ok('GET', `/runs/${run}`)).toMatchObject({ state: 'interrupted', errorcode: 5 });
  expect((await auditedStatuses()).slice(-2)).toEqual(['Allowed', 'Interrupted']);
});

test('an interrupted run is not shown to an account of the same name that was made later', async () => {
  const account = '/tables/passwd/rows/key=xcat,username=bert';
  const make = () => server!.ok('PUT', account, { password: 'berts-own' });
  const logIn = async (): Promise<string> =>
    (await server!.ok('POST', '/tokens', { userName: 'bert', userPW: 'berts-own' }, { token: null })).token.id;
  const seen = async (token: string) => (await server!.call('GET', `/runs/${run}`, { token })).status;
  await make();
  await server!.ok('POST', '/policy/5', { name: 'bert', commands: 'toil', rule: 'allow' });
  const token = await logIn();
  const body = { steps: [{ program: ['sleep', '3600'] }] };
  const reply = await server!.call('POST', '/toil/ofbert', { token, body, headers: { Prefer: 'respond-async' } });
  const run = String(reply.headers['x-muster-run']);
  await server!.stop();
  server = await start();
  expect(await seen(token)).toBe(200);
  await server.ok('DELETE', account);
  await make();
  expect(await seen(await logIn())).toBe(404);
  await server.stop();
  server = await start();
  expect(await seen(await logIn())).toBe(404);
  expect(await server.ok('GET', `/runs/${run}`)).toMatchObject({ user: 'bert', state: 'interrupted' });
});

test('a record that cannot be read keeps nobody from starting', async () => {
  await server!.stop();
  writeFileSync(join(data, 'long-work/broken.json'), '{');
  server = await start();
  await expect.poll(() => server!.output()).toContain('the record of a long run cannot be read');
});
