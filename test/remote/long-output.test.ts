import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { type Line, parseLines, type RemoteWorld, startWorld } from './world.ts';

const kept = 10_000;
let world: RemoteWorld;
beforeAll(async () => {
  const options = { count: 3, prefix: '127.126', port: 2613, perProcess: 1 };
  world = await startWorld(options, `connectSeconds = 60\noutputLimit = ${kept}`);
});
afterAll(() => world.stop());

/** All that a node printed, put together of the pieces. */
const pieces = (lines: readonly Line[], node: string, stream: 'stdout' | 'stderr'): string =>
  lines.flatMap((line) => (line.node === node && stream in line ? line[stream] : [])).join('');

describe('output that is more than is kept', () => {
  it('comes whole in a stream, before the line of its node, which says how much it lacks', async () => {
    const many = 300_000;
    const lines = await world.stream(
      't0-t2',
      `[ $LAB_NAME = t2 ] || { echo first >&2; yes '\u00e4\u20ac' | head -n ${many}; printf '\\303'; seq ${many} >&2; exit 3; }`,
    );
    expect(lines.pop()).toEqual({ summary: { nodes: 3, ok: 1, failed: 2, errorcode: 1 } });
    const printed = `${'\u00e4\u20ac\n'.repeat(many)}\ufffd`;
    const complained = `first\n${Array.from({ length: many }, (_, index) => `${index + 1}\n`).join('')}`;
    for (const node of ['t0', 't1']) {
      expect(pieces(lines, node, 'stdout') === printed, node).toBe(true);
      expect(pieces(lines, node, 'stderr') === complained, node).toBe(true);
      const own = lines.filter((line) => line.node === node);
      const { error, output } = own.at(-1);
      expect([error, output.code]).toEqual(['the command ended with exit code 3.', 3]);
      const bytes = 6 * many + 1 + Buffer.byteLength(complained);
      expect(output.cut).toBe(bytes - kept);
      expect(own.slice(0, -1).every((line) => !('error' in line))).toBe(true);
    }
    expect(lines.filter((line) => line.node === 't2')).toEqual([
      { node: 't2', value: { stdout: '', stderr: '', code: 0 } },
    ]);
  });

  it('holds a node back whose reader does not read', async () => {
    const [done, turns] = [join(world.lab.home(0), 'turns'), 400];
    const command = `for i in $(seq ${turns}); do head -c 100000 /dev/zero | tr '\\0' x; echo $i > turns; done`;
    const response = await world.open('/nodes/t0/nodeshell', { command });
    const reached = (): number => (existsSync(done) ? Number(readFileSync(done, 'utf8')) : 0);
    await expect.poll(reached, { timeout: 60_000 }).toBeGreaterThan(0);
    for (let before = -1; before !== reached(); ) {
      before = reached();
      await pause(1_000);
    }
    expect(reached()).toBeLessThan(turns);
    const all = parseLines(await text(response));
    expect(pieces(all, 't0', 'stdout').length).toBe(turns * 100_000);
    expect(all.at(-2)).toMatchObject({ node: 't0', value: { code: 0, cut: turns * 100_000 - kept } });
  });

  it('is told to be cut in a plain reply and in the run', async () => {
    const reply = await world.shell('t0,t1', '[ $LAB_NAME = t0 ] || yes | head -c 20000');
    expect(reply.status).toBe(201);
    expect(reply.headers['x-muster-note']).toMatch(/^Output was cut on 1 of 2 nodes;/);
    expect(reply.json.t1.at(-1)).toBe('The output was cut after 10000 bytes; 10000 more are not shown.');
    const run = await world.server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(run.cut).toBe(1);
    expect(run.results).toContainEqual({ node: 't1', value: expect.objectContaining({ cut: 10_000 }) });
    const whole = await world.shell('t0', 'yes | head -c 10000');
    expect(whole.headers['x-muster-note']).toBeUndefined();
  });

  it('is none of those who want no output', async () => {
    const lines = await world.stream('t0', 'yes | head -c 20000', { raw: ['-Q'] });
    expect(lines.slice(0, -1)).toEqual([{ node: 't0', value: { stdout: '', stderr: '', code: 0 } }]);
  });

  it('counts at /xcatws though standard error came when no more was kept', async () => {
    const command = 'yes | head -c 20000; sleep 0.2; echo late >&2';
    const reply = await world.shell('t0', command, {}, { root: '/xcatws' });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toContain('t0: the command wrote to standard error.');
  });
});
