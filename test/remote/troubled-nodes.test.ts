import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writersOf } from '../harness/raw-sqlite.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
const [good, hanging, refusing, changing] = [0, 1, 2, 3];
beforeAll(async () => {
  const options = { count: 6, prefix: '127.126', port: 2603, perProcess: 1, hanging: [hanging], refusing: [refusing] };
  world = await startWorld(options, 'connectSeconds = 2\noutputLimit = 10000');
});
afterAll(() => world.stop());

describe('a node in trouble', () => {
  it('costs one deadline and never delays the others', async () => {
    const reply = await world.shell('t0-t5', 'echo fine');
    expect(reply.status).toBe(403);
    expect(reply.json.error).toEqual([
      expect.stringMatching(/^t1: its sshd at \S+ did not answer within 2 s\.$/),
      expect.stringMatching(/^t2: its sshd at \S+ refused the connection\.$/),
    ]);
    const { results } = await world.server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(
      results
        .slice(0, 5)
        .map(({ node }: { node: string }) => node)
        .sort(),
    ).toEqual(['t0', 't2', 't3', 't4', 't5']);
    expect(results.at(-1).node).toBe(`t${hanging}`);
  });

  it('that shows another host key gets nothing until the old key is forgotten', async () => {
    expect((await world.shell(`t${changing}`, 'echo x')).status).toBe(201);
    const writers = writersOf(join(world.server.data, 'muster.sqlite'), 'sshhostkey', `t${changing}`);
    expect(writers).toEqual([{ user: 'root', client: '127.0.0.1', command: 'xdsh' }]);
    await world.lab.changeHostKey(changing);
    const reply = await world.shell(`t${changing}`, 'echo x');
    expect(reply.json.error[0]).toContain('has changed, and nothing was sent to it');
    expect(reply.json.error[0]).toContain(`DELETE /tables/sshhostkey/rows/node=t${changing}`);
    await world.server.ok('DELETE', `/tables/sshhostkey/rows/node=t${changing}`);
    expect((await world.shell(`t${changing}`, 'echo x')).json).toEqual({ t3: ['x'] });
  });

  it('that has no address is told so', async () => {
    await world.server.ok('POST', '/nodes/lost', { groups: 'nowhere' });
    expect((await world.shell('lost', 'date')).json.error).toEqual([
      'lost: no address is known of lost; set its ip, or make it known to DNS.',
    ]);
  });

  it('that is outside the networks of nodes is not asked', async () => {
    await world.server.ok('POST', '/nodes/far', { groups: 'nowhere', ip: '192.0.2.1' });
    expect((await world.shell('far', 'date')).json.error[0]).toContain('outside the networks of nodes');
  });

  it('that is reached through its service node is', async () => {
    await world.server.ok('PUT', '/nodes/t5', { servicenode: 't4,t3' });
    const before = world.lab.connections(4);
    expect((await world.shell('t5', 'echo $LAB_NAME')).json).toEqual({ t5: ['t5'] });
    expect(world.lab.connections(4)).toBe(before + 1);
    await world.server.ok('PUT', '/nodes/t5', { servicenode: `t${refusing}` });
    const [error] = (await world.shell('t5', 'echo x')).json.error;
    expect(error).toContain('it is reached through t2, and there:');
    await world.server.ok('PUT', '/nodes/t5', { servicenode: '' });
  });

  it('that prints more than is kept says so, with its exit code', async () => {
    const line = (await world.stream('t0', 'head -c 30000 /dev/zero | tr "\\0" x; exit 3')).at(-2);
    expect(line.output.stdout).toBe('x'.repeat(10_000));
    expect([line.output.code, line.output.cut]).toEqual([3, 20_000]);
    expect(line.output.notes).toEqual(['The output was cut after 10000 bytes; 20000 more are not shown.']);
    const { json } = await world.shell(`t${good}`, 'yes | head -c 20000');
    expect(json.t0.at(-1)).toBe('The output was cut after 10000 bytes; 10000 more are not shown.');
  });

  it('that complains a lot has the first of it in the reply', async () => {
    const { json } = await world.shell('t0', 'seq 1 101 >&2; exit 1');
    expect(json.error.slice(0, 2)).toEqual(['t0: 1', 't0: 2']);
    expect(json.error.slice(99)).toEqual([
      't0: 100',
      't0: there is more on standard error; the run shows all of it.',
      't0: the command ended with exit code 1.',
    ]);
  });

  it('that prints 300 MB does not fill our memory', async () => {
    const before = peakMemory();
    const { json } = await world.shell('t0', 'head -c 300M /dev/zero', { raw: ['-t', '80'] });
    expect(json.t0.at(-1)).toContain(`${300 * 2 ** 20 - 10_000} more are not shown`);
    expect(peakMemory() - before).toBeLessThan(120 * 1024);
  });

  it('is left alone by other commands while it prints', async () => {
    const begun = await world.begin('/nodes/t0,t4/nodeshell', {
      command: '[ $LAB_NAME = t0 ] || timeout 20 cat /dev/zero',
    });
    const first = await Promise.race([begun.lines, world.shell('t0', 'echo x')]);
    expect(first).toMatchObject({ status: 201 });
    begun.leave();
  });
});

/** The most memory the server has used so far, in KiB. */
const peakMemory = (): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${world.server.child.pid}/status`, 'utf8'))![1]);
