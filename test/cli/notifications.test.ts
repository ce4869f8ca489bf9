import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let programs: string;
let env: Record<string, string>;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'muster-hooks-'));
  server = await startServer({ environment: { MUSTER_HOOKS_DIRECTORY: programs } });
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
});
afterAll(async () => {
  rmSync(programs, { recursive: true, force: true });
  await server.stop();
});

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
const rows = async (table: string) => (await server.ok('GET', `/tables/${table}/rows`))[table];

it('a program that is registered hears of changes until it is no longer', async () => {
  const [program, heard] = [join(programs, 'told'), join(programs, 'heard')];
  writeFileSync(program, `#!/bin/sh\ncat >> ${heard}\n`);
  chmodSync(program, 0o755);
  expect(await run('regnotif', program, 'nodelist,nodehm', '-o', 'a,d')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await rows('notification')).toEqual([{ filename: program, tables: 'nodelist,nodehm', tableops: 'a,d' }]);
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  await expect.poll(() => readFileSync(heard, 'utf8')).toContain('"table":"nodelist"');
  expect(await run('unregnotif', program)).toMatchObject({ code: 0 });
  expect([await rows('notification'), await rows('hooks')]).toEqual([[], []]);
  expect(await run('unregnotif', program)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not registered'),
  });
});

it('keeps the hook that another registered file means too', async () => {
  const [first, second] = ['a', 'b'].map((name) => {
    mkdirSync(join(programs, name));
    writeFileSync(join(programs, name, 'x.sh'), '#!/bin/sh\n');
    return join(programs, name, 'x.sh');
  }) as [string, string];
  for (const file of [first, second]) await run('regnotif', file, 'nodelist');
  expect(await run('unregnotif', first)).toEqual({
    code: 0,
    stdout: `The hook regnotif-x.sh stays: ${second} is registered too.\n`,
    stderr: '',
  });
  expect(await rows('hooks')).toMatchObject([{ name: 'regnotif-x.sh' }]);
  await run('unregnotif', second);
  expect(await rows('hooks')).toEqual([]);
});

it('refuses files, tables and operations that are none, and does nothing', async () => {
  expect(await run('regnotif', '/nosuch', 'nodelist')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no file /nosuch.'),
  });
  expect(await run('regnotif', '/nosuch')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('The tables are missing: write regnotif /nosuch TABLE'),
  });
  expect(await run('regnotif', 'x', 'nodelist,nosuch')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no table nosuch.'),
  });
  expect(await run('regnotif', 'x', 'nodelist', '-o', 'z')).toMatchObject({ code: 1 });
  expect(await rows('notification')).toEqual([]);
});

it('says that it runs no Perl modules', async () => {
  expect(await run('regnotif', '/x.pm', 'nodelist')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('muster runs no Perl modules'),
  });
  expect(await rows('hooks')).toEqual([]);
});
