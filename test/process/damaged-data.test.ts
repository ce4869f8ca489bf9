import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../harness/processes.ts';
import { outside, queryOutside } from '../harness/raw-sqlite.ts';
import {
  agentFor,
  callJson,
  login,
  removeDirectory,
  rootPassword,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

const directory = temporaryDirectory();
afterAll(() => removeDirectory(directory));

const whole = join(directory, 'whole');
const backup = join(directory, 'backup');
let token: string;
let agent: Agent;
let number = 0;

const main = join(import.meta.dirname, '../../dist/main.js');
/** Runs a command for the data of a stopped server, or the server itself, until it ends. */
const run = (data: string, ...words: readonly string[]) => {
  const env = { ...process.env, MUSTER_ROOT_PASSWORD: rootPassword };
  const args = [main, '--data', data, '--listen', '127.0.0.1:0', ...words];
  return spawnSync(process.execPath, args, { env, encoding: 'utf8', timeout: 60_000, killSignal: 'SIGKILL' });
};

beforeAll(async () => {
  const service = await startService(whole);
  agent = agentFor(service);
  token = await login(service, agent);
  for (let i = 0; i < 40; i++)
    await callJson(service, agent, token, 'POST', `/muster/nodes/n[${i * 100}-${i * 100 + 99}]`, { groups: 'all' });
  const secret = await callJson(service, agent, token, 'PUT', '/muster/tables/ipmi/rows/node=n1', {
    password: 'secret',
  });
  expect(secret).toMatchObject({ status: 200 });
  expect(await stopService(service)).toBe(0);
  expect(run(whole, 'backup', backup).status).toBe(0);
});

/** A copy of the data, to be harmed. */
function copied(): string {
  const data = join(directory, `data${number++}`);
  execFileSync('cp', ['-a', whole, data]);
  return data;
}

/** Overwrites all pages but the first ones. */
function damage(data: string): void {
  const handle = openSync(join(data, 'muster.sqlite'), 'r+');
  const { size } = fstatSync(handle);
  for (let at = 8 * 4_096; at < size; at += 4_096) writeSync(handle, Buffer.alloc(4_096, 0xa5), 0, 4_096, at);
  closeSync(handle);
}

describe('a damaged database', () => {
  test('ends the start, with a status and the command that restores it', () => {
    const data = copied();
    damage(data);
    const { status, stderr } = run(data);
    expect(status).toBe(1);
    expect(stderr).toContain(`The database ${join(data, 'muster.sqlite')} is damaged`);
    expect(stderr).toContain(`muster --data ${data} restore BACKUP --replace`);
    expect(run(data, 'restore', backup, '--replace').status).toBe(0);
    expect(run(data, 'export', join(directory, 'exported')).status).toBe(0);
  });

  test.each([
    ['a reading of the journal', 'GET', '/muster/changes', undefined],
    ['a write', 'PUT', '/muster/nodes/n1-n3999', { rack: 'r1' }],
  ])('ends a server that meets it in %s', async (_what, method, path, body) => {
    const data = copied();
    const service = await startService(data);
    const own = agentFor(service);
    damage(data);
    const { status } = await callJson(service, own, token, method, path, body);
    expect(status).toBe(503);
    expect((await service.exited).code).toBe(1);
    expect(service.log()).toContain('is damaged');
    expect(service.log()).toContain(`restore BACKUP --replace`);
    own.destroy();
  });

  test.each([
    ['removed', (file: string) => rmSync(file)],
    ['replaced', (file: string) => (copyFileSync(file, `${file}.copy`), renameSync(`${file}.copy`, file))],
  ])('ends a server whose database file was %s, before a write is lost', async (what, harm) => {
    const data = copied();
    const service = await startService(data);
    const own = agentFor(service);
    const file = join(data, 'muster.sqlite');
    harm(file);
    const write = callJson(service, own, token, 'PUT', '/muster/nodes/n1', { rack: 'r1' });
    // One that comes too late finds nobody.
    expect(
      await write.then(
        ({ status }) => status,
        () => 503,
      ),
    ).toBe(503);
    expect((await service.exited).code).toBe(1);
    expect(service.log()).toContain(`The database ${file} was ${what}`);
    expect(service.log()).toContain('restore BACKUP --replace');
    own.destroy();
  });

  test('ends a server that nobody asks anything', async () => {
    const data = copied();
    const service = await startService(data);
    rmSync(join(data, 'muster.sqlite'));
    expect((await service.exited).code).toBe(1);
    expect(service.log()).toContain('was removed while muster was running');
  });

  test('is named by backup and export', () => {
    const data = copied();
    damage(data);
    for (const words of [
      ['backup', join(directory, 'second')],
      ['export', join(directory, 'tables')],
    ])
      expect(run(data, ...words)).toMatchObject({ status: 1, stderr: expect.stringContaining('is damaged') });
  });
});

describe('what is left of a cluster is not taken for a new one:', () => {
  const database = (data: string) => join(data, 'muster.sqlite');
  const sizes = (data: string) =>
    ['muster.sqlite', 'muster.sqlite-wal', 'secret.key'].map(
      (name) => lstatSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0,
    );
  /** As a backup of an empty file is: a whole database without any table. */
  const emptied = (data: string) => {
    rmSync(database(data));
    outside(database(data), (connection) => connection.exec('vacuum'));
  };
  test.each([
    ['an empty database', (data: string) => truncateSync(database(data)), 'is empty'],
    ['a database without tables', emptied, 'is empty'],
    ['no database', (data: string) => rmSync(database(data)), 'is missing'],
    [
      'the key of another cluster',
      (data: string) => writeFileSync(join(data, 'secret.key'), randomBytes(32)),
      'none of the secrets there (1) can be decrypted',
    ],
    ['no key', (data: string) => rmSync(join(data, 'secret.key')), 'is missing'],
    [
      'only a log of the database',
      (data: string) => {
        renameSync(database(data), `${database(data)}-wal`);
        rmSync(join(data, 'secret.key'));
      },
      'is missing',
    ],
  ])('%s', (_what, harm, sentence) => {
    const data = copied();
    harm(data);
    const before = sizes(data);
    const { status, stderr } = run(data);
    expect([status, stderr]).toEqual([1, expect.stringContaining(sentence)]);
    expect(stderr).toContain(`muster --data ${data} restore BACKUP --replace`);
    expect(sizes(data)).toEqual(before);
    expect(run(data, 'import', directory, '--replace').status).toBe(1);
  });
});

describe('what is in the data directory', () => {
  /** What others could read or enter. Scripts for nodes have the modes that they get there, in a directory of their owner. */
  const open = (data: string): string[] =>
    readdirSync(data, { recursive: true, encoding: 'utf8' }).filter((name) => {
      if (name.startsWith('postscripts/')) return false;
      const status = lstatSync(join(data, name));
      return !status.isSocket() && (status.mode & 0o077) !== 0;
    });

  test('is for its owner only after a restore, under any umask', () => {
    const data = join(directory, 'restored');
    const words = [process.execPath, main, '--data', data, 'restore', backup];
    expect(spawnSync('sh', ['-c', 'umask 0; exec "$@"', 'sh', ...words]).status).toBe(0);
    expect(open(data)).toEqual([]);
  });

  test('is for its owner only again after a start', async () => {
    const data = copied();
    mkdirSync(join(data, 'blobs'), { recursive: true });
    writeFileSync(join(data, 'blobs/layer'), '');
    for (const name of ['muster.sqlite', 'tls', 'tls/ca.key', 'ssh', 'files', 'postscripts', 'blobs', 'blobs/layer'])
      chmodSync(join(data, name), 0o755);
    const service = await startService(data, { under: ['sh', '-c', 'umask 0; exec "$@"', 'sh'] });
    expect(await stopService(service)).toBe(0);
    expect(open(data)).toEqual([]);
  });
});

test('records that are past their time go soon after a start', async () => {
  const data = copied();
  const file = join(data, 'muster.sqlite');
  const service: Service = await startService(data);
  const own = agentFor(service);
  await login(service, own);
  own.destroy();
  expect(await stopService(service)).toBe(0);
  const ended = "update token set expire = '2001-01-01 00:00:00' returning tokenid";
  expect(queryOutside(file, ended).length).toBeGreaterThan(1);
  const again = await startService(data);
  await until(() => queryOutside(file, 'select * from token').length === 0);
  expect(await stopService(again)).toBe(0);
});

test('a start that was killed before the key was there is no lost cluster', async () => {
  const data = join(directory, 'killed');
  const service = await startService(data);
  expect(await stopService(service)).toBe(0);
  for (const name of readdirSync(data)) if (name !== 'lock.sqlite') rmSync(join(data, name), { recursive: true });
  writeFileSync(join(data, 'muster.sqlite'), '');
  const again = await startService(data);
  expect(existsSync(join(data, 'secret.key'))).toBe(true);
  expect(await stopService(again)).toBe(0);
});
