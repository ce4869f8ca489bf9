import { statSync, truncateSync } from 'node:fs';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ended, muster } from '../harness/muster-command.ts';
import { type SmallDisk, smallDisk } from '../harness/small-disk.ts';
import {
  agentFor,
  call,
  callJson,
  login,
  removeDirectory,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

const directory = temporaryDirectory();
let disk: SmallDisk;
let service: Service;
let agent: Agent;
let token: string;

beforeAll(async () => {
  disk = smallDisk(join(directory, 'data'), 24 << 10);
  service = await startService(disk.directory);
  agent = agentFor(service);
  token = await login(service, agent);
  await callJson(service, agent, token, 'POST', '/muster/nodes/n1', { groups: 'all' });
});
afterAll(() => {
  agent.destroy();
  disk.remove();
  removeDirectory(directory);
});

const put = (rack: string) => callJson(service, agent, token, 'PUT', '/muster/nodes/n1', { rack });
const doctor = () => {
  const MUSTER_CA = join(disk.directory, 'tls/ca.pem');
  const env = { MUSTER_URL: `https://127.0.0.1:${service.port}`, MUSTER_TOKEN: token, MUSTER_CA };
  return ended(muster, ['doctor'], { HOME: directory, ...env });
};

/** The log of the database has room that it uses again; a long text does not fit in. */
async function writeUntilRefused() {
  for (let i = 0; ; i++) {
    const reply = await put(`r${i}`.padEnd(100_000, 'r'));
    if (reply.status !== 200) return reply;
  }
}

test('a full disk is named in replies and by doctor; reads go on, and writes when there is room again', async () => {
  expect(await doctor()).toMatchObject({ stdout: expect.stringMatching(/^ok  +disk .*data .*left$/m) });
  disk.fill();
  const reply = await writeUntilRefused();
  expect(reply.status).toBe(503);
  expect(reply.body).toContain(`the file system of ${disk.directory} is full`);
  expect((await callJson(service, agent, token, 'GET', '/muster/nodes/n1')).status).toBe(200);
  const stranger = await call(service, agent, 'GET', '/muster/nodes/n1', { headers: { 'X-Auth-Token': 'wrong' } });
  expect(stranger.body).not.toContain(disk.directory);
  for (;;) {
    const { code, stdout } = await doctor();
    if (!/^WRONG {2}disk/m.test(stdout)) continue;
    expect([code, stdout]).toEqual([1, expect.stringContaining(`data (${disk.directory}) is full`)]);
    break;
  }
  disk.makeRoom();
  expect((await put('r1')).status).toBe(200);
  expect((await callJson(service, agent, token, 'GET', '/muster/health')).status).toBe(200);
});

test('a server ends on a disk that is full, and one that cannot start there says why', async () => {
  disk.fill();
  expect(await stopService(service)).toBe(0);
  disk.makeRoom();
  expect(await stopService(await startService(disk.directory))).toBe(0);
  disk.fill();
  const failure = await startService(disk.directory).then(
    () => '',
    (error: Error) => error.message,
  );
  expect(failure).toContain(`the file system of ${disk.directory} is full`);
  expect(failure).not.toContain('restart');
  disk.makeRoom();
});

test('a backup and a restore name the file system that is full', async () => {
  const data = join(directory, 'elsewhere');
  expect(await stopService(await startService(data))).toBe(0);
  const main = join(import.meta.dirname, '../../dist/main.js');
  const run = (...words: readonly string[]) => ended(process.execPath, [main, '--data', ...words], { HOME: directory });
  const backup = join(directory, 'good.backup');
  expect((await run(data, 'backup', backup)).code).toBe(0);
  disk.fill();
  truncateSync(join(disk.directory, 'ballast'), statSync(join(disk.directory, 'ballast')).size - 65_536);
  expect(await run(data, 'backup', join(disk.directory, 'second.backup'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`The backup cannot be written: the file system of ${disk.directory} is full.`),
  });
  expect(await run(disk.directory, 'restore', backup, '--replace')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      `The backup cannot be unpacked, and nothing was changed: the file system of ${disk.directory} is full.`,
    ),
  });
  disk.makeRoom();
  expect(await run(disk.directory, 'restore', backup, '--replace')).toMatchObject({ code: 0, stderr: '' });
});
