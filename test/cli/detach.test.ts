import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { define, labNodes } from '../hardware/nodes.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RemoteWorld, startWorld } from '../remote/world.ts';

let world: RemoteWorld;
let bmcs: BmcLab;
let env: Record<string, string>;
beforeAll(async () => {
  [world, bmcs] = await Promise.all([
    startWorld({ count: 2, prefix: '127.45', port: 2614 }),
    startBmcs({ count: 1, prefix: '127.46' }),
  ]);
  await define(world.server, labNodes('i', 'ipmi', bmcs.addresses));
  env = { HOME: world.server.data, MUSTER_SOCKET: join(world.server.data, 'muster.sock') };
}, 300_000);
afterAll(() => Promise.all([world?.stop(), bmcs?.stop()]));

const run = (...words: string[]) => ended(muster, words, env);

/** Begins work and leaves it to the server; answers its run. */
async function leave(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...words);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringMatching(/^[\w-]+\n$/), stderr: '' });
  return stdout.trim();
}

describe('--detach', { timeout: 300_000 }, () => {
  it('leaves power to the server', async () => {
    expect(bmcs.state(0).power).toBe('off');
    const id = await leave('rpower', 'i1', 'on', '--detach');
    expect(await run('runs', 'attach', id)).toEqual({ code: 0, stdout: 'i1: power: on\n', stderr: '' });
    expect(bmcs.state(0).power).toBe('on');
  });

  it('is not needed for a dry run, which says whom the command would be sent to and sends nothing', async () => {
    const { power, changes } = bmcs.state(0);
    expect(await run('rpower', 'i1,t0', power === 'on' ? 'off' : 'on', '--dry-run')).toEqual({
      code: 1,
      stdout: `i1: dry run mgt=ipmi address=${bmcs.addresses[0]!}\n`,
      stderr: expect.stringMatching(/^t0: .*mgt is not set/),
    });
    expect(bmcs.state(0)).toMatchObject({ power, changes });
  });

  it('does not wait for commands on nodes, whose output is there later', async () => {
    const script = 'echo $LAB_NAME; while [ $LAB_NAME = t1 ] && [ ! -e "$HOME/go" ]; do sleep 0.1; done; echo end';
    const id = await leave('xdsh', 't0,t1', '--detach', script);
    await expect.poll(() => world.server.ok('GET', `/runs/${id}`)).toMatchObject({ state: 'running', nodes: 2, ok: 1 });
    writeFileSync(join(world.lab.home(1), 'go'), '');
    const { stdout, ...others } = await run('runs', 'attach', id);
    expect(others).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').sort()).toEqual(['', 't0: end', 't0: t0', 't1: end', 't1: t1']);
  });

  it('tells whoever attaches which nodes failed', async () => {
    const id = await leave('xdsh', 't0,t1', '--detach', 'echo here; echo there >&2; [ $LAB_NAME = t0 ]');
    const { code, stdout, stderr } = await run('runs', 'attach', id);
    expect([code, stdout.split('\n').sort()]).toEqual([1, ['', 't0: here', 't1: here']]);
    expect(stderr.split('\n').sort()).toEqual([
      '',
      'Failed: t1',
      't0: there',
      't1: Error: the command ended with exit code 1.',
      't1: there',
    ]);
  });
});

describe('a host key that muster notes while it does something else', { timeout: 300_000 }, () => {
  it('is not the last change that muster undo takes back, unless somebody wrote it', async () => {
    const { server } = world;
    expect(await run('chdef', 't1', 'rack=r4')).toMatchObject({ code: 0 });
    expect(await run('xdsh', 't1', 'true')).toMatchObject({ code: 0 });
    const keys = async () => (await server.ok('GET', '/tables/sshhostkey/rows/node=t1')).sshhostkey;
    const noted = await keys();
    expect(noted).toMatchObject([{ node: 't1' }]);
    expect((await run('undo', '--yes')).stdout).toContain('-  rack=r4\n');
    expect(await keys()).toEqual(noted);
    expect(await run('chtab', '-d', 'node=t1', 'sshhostkey')).toMatchObject({ code: 0 });
    expect((await run('undo', '--yes')).stdout).toContain('sshhostkey node=t1');
    expect(await keys()).toEqual(noted);
  });
});
