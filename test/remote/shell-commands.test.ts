import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { ended } from '../harness/muster-command.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
let own: string;
/** A node whose name the nodes can look up: that of this machine. */
const known = hostname();

beforeAll(async () => {
  world = await startWorld({ count: 2, prefix: '127.47', port: 2617, perProcess: 1 });
  own = temporaryDirectory();
  await world.server.ok('POST', `/nodes/${known}`, { groups: 'known', ip: '127.47.0.1' });
});
afterAll(() => world.stop());

const run = (...argv: string[]) => program(muster, argv, environmentFor(world.server, own));
const lines = (text: string): string[] => text.trimEnd().split('\n').sort();

describe('ppping', () => {
  it('says which nodes cannot ping at all', async () => {
    const { code, stdout, stderr } = await run('ppping', 't0');
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('t0: it has no program ping')]);
  });

  it('shows whom each node does not reach, with -V every ping, with -q only those without an answer', async () => {
    for (const index of [0, 1]) {
      mkdirSync(join(world.lab.home(index), 'bin'));
      symlinkSync('/usr/bin/busybox', join(world.lab.home(index), 'bin/ping'));
      appendFileSync(join(world.lab.home(index), '.bashrc'), '\nPATH=$HOME/bin:$PATH\n');
    }
    const range = `t0,${known}`;
    const usual = await run('ppping', range);
    expect([usual.code, lines(usual.stdout)]).toEqual([0, lines(`t0: t0: noping\n${known}: t0: noping`)]);
    const all = await run('ppping', '-V', range);
    expect(lines(all.stdout)).toEqual(
      lines(`t0: ${known}: ping\nt0: t0: noping\n${known}: ${known}: ping\n${known}: t0: noping`),
    );
    const good = await run('ppping', '-s', known);
    expect(good.stdout).toBe(`${known}: pinged all nodes successfully\n`);
    expect((await run('ppping', '-q', known)).stdout).toBe('');
  });
});

describe('output that is not UTF-8', () => {
  const command = String.raw`printf 'caf\351 \303\251\n'`;

  it('comes in base64 too, and its text has replacement characters', async () => {
    const [result] = await world.stream('t0', command);
    expect(result.value).toMatchObject({
      stdout: 'caf\uFFFD é\n',
      base64: { stdout: Buffer.from('636166e920c3a90a', 'hex').toString('base64') },
    });
    const [plain] = await world.stream('t0', 'echo é');
    expect(plain.value).not.toHaveProperty('base64');
  });

  it.each([['xdsh'], ['psh']])('is printed by %s with all its bytes', async (name) => {
    const env = { ...environmentFor(world.server, own), muster, command };
    const { stdout } = await ended(
      '/bin/bash',
      ['-c', `"$muster" ${name} t0 "$command" | od -An -tx1 | tr -d ' \\n'`],
      env,
    );
    expect(stdout).toContain('636166e920c3a90a');
  });
});

describe('copies', () => {
  it('by prsync and pscp take the options of rsync and scp that change nothing', async () => {
    mkdirSync(join(own, 'tree'));
    writeFileSync(join(own, 'tree/file'), 'text');
    const synced = await run('prsync', '-o', 'crz --times', 'tree', 't0:by-prsync/');
    expect([synced.code, synced.stdout, synced.stderr]).toEqual([0, 't0: done\n', '']);
    expect(readFileSync(join(world.lab.home(0), 'by-prsync/tree/file'), 'utf8')).toBe('text');
    const copied = await run('pscp', '-r', '-p', 'tree', 't1:by-pscp/');
    expect([copied.code, copied.stdout, copied.stderr]).toEqual([0, 't1: done\n', '']);
    expect(readFileSync(join(world.lab.home(1), 'by-pscp/tree/file'), 'utf8')).toBe('text');
  });

  it('of an empty word copy nothing', async () => {
    writeFileSync(join(own, 'here'), 'x');
    for (const words of [
      ['xdcp', 't0', '', 'nothing/'],
      ['pscp', '', 't0:nothing/'],
    ]) {
      const { code, stderr } = await run(...words);
      expect([code, stderr]).toEqual([1, expect.stringContaining('names no file')]);
    }
    expect((await world.shell('t0', 'ls nothing 2>&1 || true')).json.t0.join()).toContain('No such file');
  });
});
