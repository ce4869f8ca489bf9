import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../lab/child.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
beforeAll(async () => {
  const options = { count: 3, prefix: '127.126', port: 2607, perProcess: 1, refusing: [2] };
  world = await startWorld(options, 'transport = "process"\nconnectSeconds = 10');
});
afterAll(() => world.stop());

describe('the same by ssh processes', () => {
  it('runs commands', async () => {
    const lines = await world.stream('t0-t2', 'echo "$A $LAB_NAME"; echo e >&2; exit 4', { ENV: { A: "it's" } });
    expect(lines.pop()).toEqual({ summary: { nodes: 3, ok: 0, failed: 3, errorcode: 1 } });
    const error = 'the command ended with exit code 4.';
    expect(lines).toContainEqual({ node: 't1', error, output: { stdout: "it's t1\n", stderr: 'e\n', code: 4 } });
    expect(lines.find(({ node }) => node === 't2').error).toMatch(/cannot be reached/);
  });

  it('tells that a signal ended a command, and stops one in time', async () => {
    const killed = await world.shell('t0', 'kill -KILL $$');
    expect(killed.json.error).toEqual(['t0: the command was ended by a signal.']);
    // Longer than this test may take.
    const late = await world.shell('t0', 'sleep 600', { raw: ['-t', '1'] });
    expect([late.status, late.json.error]).toEqual([408, ['t0: the command did not end within 1 s and was stopped.']]);
  });

  it('kills the command when the client leaves', async () => {
    const file = join(world.lab.home(1), 'sleeper');
    const command = '[ $LAB_NAME != t1 ] || { echo $$ > new; mv new sleeper; exec sleep 300; }';
    const begun = await world.begin('/nodes/t0,t1/nodeshell', { command });
    await expect.poll(() => existsSync(file)).toBe(true);
    const pid = Number(readFileSync(file, 'utf8'));
    expect(isAlive(pid)).toBe(true);
    begun.leave();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('copies files', async () => {
    const file = join(world.sources, 'file');
    writeFileSync(file, 'content');
    const reply = await world.server.call('POST', '/nodes/t0,t1/nodecopy', { body: { src: [file], target: 'copied' } });
    expect([reply.status, reply.text]).toEqual([201, '']);
    expect(readFileSync(join(world.lab.home(1), 'copied'), 'utf8')).toBe('content');
  });

  it('copies trees', async () => {
    const tree = join(world.sources, 'tree');
    mkdirSync(tree);
    for (let index = 0; index < 30; index++) writeFileSync(join(tree, String(index)), `content ${index}`);
    writeFileSync(join(tree, 'large'), Buffer.alloc(3_000_000, 'x'));
    const reply = await world.server.call('POST', '/nodes/t0,t1/nodecopy', { body: { src: [tree], target: 'trees/' } });
    expect([reply.status, reply.text]).toEqual([201, '']);
    for (const index of [0, 1]) {
      const there = join(world.lab.home(index), 'trees/tree');
      expect(readdirSync(there).sort()).toEqual(readdirSync(tree).sort());
      expect(readFileSync(join(there, '29'), 'utf8')).toBe('content 29');
      expect(statSync(join(there, 'large')).size).toBe(3_000_000);
      expect(readdirSync(join(world.lab.home(index), 'trees'))).toEqual(['tree']);
    }
  });
});
