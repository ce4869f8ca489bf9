import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RemoteWorld, startWorld } from './world.ts';

/** More than are worked on at once. */
const count = 300;
let world: RemoteWorld;
beforeAll(async () => {
  world = await startWorld({ count, prefix: '127.126', port: 2605 }, 'connectSeconds = 120');
});
afterAll(() => world.stop());

const names = Array.from({ length: count }, (_, index) => `t${index}`);

it('runs a command on 300 nodes in one call', async () => {
  const { status, json } = await world.shell('t0-t299', 'echo $LAB_NAME');
  expect(status).toBe(201);
  expect(json).toEqual(Object.fromEntries(names.map((name) => [name, [name]])));
});

it('tells 300 results as they come, over kept connections', async () => {
  const lines = await world.stream('all', 'echo $LAB_NAME');
  expect(lines.pop()).toEqual({ summary: { nodes: count, ok: count, failed: 0, errorcode: 0 } });
  expect(lines.every(({ node, value }) => value.stdout === `${node}\n`)).toBe(true);
});

it('keeps the memory within bounds when 300 nodes print a lot', async () => {
  const before = peakMemory();
  const { json } = await world.shell('all', 'yes | head -c 300000');
  const limit = Math.floor((32 * 1024 * 1024) / count);
  expect(json.t7.at(-1)).toBe(`The output was cut after ${limit} bytes; ${300_000 - limit} more are not shown.`);
  expect(peakMemory() - before).toBeLessThan(600 * 1024);
});

/** The most memory the server has used so far, in KiB. */
const peakMemory = (): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${world.server.child.pid}/status`, 'utf8'))![1]);

it('copies a file to 300 nodes in one call', async () => {
  const file = join(world.sources, 'file');
  writeFileSync(file, 'content');
  const body = { src: [file], target: 'copied' };
  const reply = await world.server.call('POST', '/nodes/all/nodecopy', { body });
  expect([reply.status, reply.text]).toEqual([201, '']);
  expect(names.every((_, index) => readFileSync(join(world.lab.home(index), 'copied'), 'utf8') === 'content')).toBe(
    true,
  );
});
