import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Unreachable } from '../../../src/core/errors.ts';
import type { SshClient } from '../../../src/protocols/ssh/client.ts';
import { isAlive } from '../../lab/child.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';
import { clientOf, complaint, memoryHostKeys, run, targetOf } from './world.ts';

const refusing = 40;
let lab: SshLab;
let client: SshClient;
const hostKeys = memoryHostKeys();

beforeAll(async () => {
  lab = await startSsh({ count: 41, prefix: '127.122', port: 2224, perProcess: 10, refusing: [refusing] });
  client = clientOf(lab, { hostKeys });
});
afterAll(async () => {
  await client?.close();
  await lab?.stop();
});

const behind = (index: number, jump: number) => targetOf(lab, index, { jump: targetOf(lab, jump) });
const cameFrom = 'echo ${SSH_CONNECTION%% *} $LAB_NAME';

it('reaches a node through another, and checks the keys of both', async () => {
  const direct = await run(client, targetOf(lab, 1), cameFrom);
  const { stdout } = await run(client, behind(1, 20), cameFrom);
  expect(stdout.endsWith(' t1\n')).toBe(true);
  expect(direct.stdout.endsWith(' t1\n')).toBe(true);
  expect(hostKeys.keys.get('t20')).toBe(lab.hostKey(20));
});

it('reaches a node through two others', async () => {
  const target = targetOf(lab, 2, { jump: behind(21, 20) });
  expect(await run(client, target, 'echo $LAB_NAME; exit 4')).toMatchObject({ stdout: 't2\n', code: 4 });
});

it('reaches many nodes through one connection', async () => {
  const open = lab.connections(30);
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, index) => run(client, behind(index, 30), 'sleep 0.5; echo $LAB_NAME')),
  );
  expect(all.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 20 }, (_, index) => `t${index}\n`));
  expect(lab.connections(30)).toBe(open + 1);
});

it('carries large outputs', async () => {
  const { stdout } = await run(client, behind(3, 20), 'head -c 1000000 /dev/zero | tr "\\0" x');
  expect(stdout).toBe('x'.repeat(1_000_000));
});

it('notices that a node behind another has died, and connects again when it is back', async () => {
  const target = behind(11, 20);
  expect((await run(client, target, 'echo one')).stdout).toBe('one\n');
  lab.sever(11);
  const second = () => run(client, target, 'echo two').then(({ stdout }) => stdout, String);
  await expect.poll(second).toBe('two\n');
  const running = complaint(run(client, target, 'touch begun; sleep 300', { commandTimeout: 120_000 }));
  await expect.poll(() => existsSync(join(lab.home(11), 'begun'))).toBe(true);
  lab.sever(11);
  expect(await running).toContain('was lost');
  expect((await run(client, target, 'echo three')).stdout).toBe('three\n');
});

it('survives that a command is cancelled whose node has just closed the stream', async () => {
  const target = behind(12, 20);
  for (const pause of [0, 1, 2, 5]) {
    const leaving = new AbortController();
    const running = complaint(run(client, target, 'sleep 60', { signal: leaving.signal }));
    await sleep(300);
    lab.sever(12);
    await sleep(pause);
    leaving.abort();
    expect(await running).toMatch(/cancelled|was lost/);
  }
});

it('tells which machine on the way failed', async () => {
  const refused = await run(client, behind(1, refusing), 'true').catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Unreachable);
  expect((refused as Error).message).toMatch(/^it is reached through t40, and there: .* refused the connection\.$/);
  expect(await complaint(run(client, behind(refusing, 20), 'true'))).toContain(
    `it is reached through t20, and there: it cannot reach ${lab.addresses[refusing]}:2224`,
  );
});

it('kills what runs on nodes, behind others too, when it is closed', async () => {
  const other = clientOf(lab);
  const pids = [13, 14].map((index) => join(lab.home(index), 'pid'));
  const command = 'echo $$ > new; mv new pid; exec sleep 300';
  const ends = [targetOf(lab, 13), behind(14, 20)].map((target) => run(other, target, command));
  await expect.poll(() => pids.every((file) => existsSync(file))).toBe(true);
  await other.close();
  expect(await Promise.all(ends)).toMatchObject([{ signal: 'SIGTERM' }, { signal: 'SIGTERM' }]);
  for (const file of pids) expect(isAlive(Number(readFileSync(file, 'utf8')))).toBe(false);
});

it('refuses a way without an end', async () => {
  const loop = { ...targetOf(lab, 1) };
  Object.assign(loop, { jump: loop });
  expect(await complaint(run(client, loop, 'true'))).toBe('it is reached through more than 4 others.');
});
