import { chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentFor } from '../cli/command-line.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { scratchDirectory } from '../harness/store.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

let world: UpdateWorld;
const install = scratchDirectory();
const put = (path: string, content: string): void => {
  const place = join(install, 'overlays', path);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, content, { mode: 0o644 });
};
beforeAll(async () => {
  put('base/etc/rack.tmpl', 'node #NODE#\n#EACH:groups#\ngroup #ITEM:name#\n#END#\n');
  put('base/opt/site/tool', '#!/bin/sh\n');
  world = await startUpdateWorld(2, '127.127', 2743);
  await world.define(
    {},
    {
      site: [{ key: 'installdir', value: install }],
      nodeoverlay: [{ node: 'n1', overlay: 'base' }],
    },
  );
});
afterAll(() => world?.stop());

const overlay = (range: string, action: string) => world.server.ok('POST', `/nodes/${range}/overlay`, { action });

it('running nodes get the files of their overlays, and hear what they have otherwise', async () => {
  const leftovers = () => readdirSync(world.lab.path(0, '/tmp')).filter((name) => name.startsWith('tmp.'));
  const before = leftovers();
  expect(await overlay('n1', 'diff')).toEqual({
    n1: ['/etc/rack: missing', '/opt/site: missing', '/opt/site/tool: missing'],
  });
  expect((await overlay('n1', 'send')).n1).toContain('/etc/rack: missing');
  expect(world.lab.read(0, '/etc/rack').toString()).toBe('node n1\ngroup all\n');
  expect(lstatSync(world.lab.path(0, '/etc/rack'))).toMatchObject({ uid: 0, mode: 0o100644 });
  writeFileSync(world.lab.path(0, '/etc/rack'), 'changed by hand\n');
  const lines = [
    '--- on the node',
    '+++ of the overlay',
    '@@ -1 +1,2 @@',
    '-changed by hand',
    '+node n1',
    '+group all',
  ];
  expect(await overlay('n1', 'diff')).toEqual({ n1: ['/etc/rack: changed', ...lines] });
  await overlay('n1', 'send');
  expect(await overlay('n1', 'diff')).toEqual({ n1: [] });
  expect(leftovers()).toEqual(before);
});

it('a node without one fails by itself, with what to do', async () => {
  const { status, text } = await world.server.call('POST', '/nodes/n1,n2/overlay', { body: { action: 'send' } });
  expect(status).toBeGreaterThanOrEqual(400);
  expect(text).toMatch(/n2.*has no overlay: set its attribute overlay/);
});

describe('of files that not everybody may see', () => {
  const secret = 'opensesame';
  const diff = async (token?: string): Promise<string> =>
    (
      await world.server.ok('POST', '/nodes/n1/overlay', { action: 'diff' }, token === undefined ? {} : { token })
    ).n1.join('\n');

  it('a comparison shows no lines: of secrets, of keys, of nodes that the caller does not see', async () => {
    await world.server.ok('PUT', '/nodes/n1', { mgt: 'ipmi', bmcpassword: secret });
    put('base/etc/with-secret.tmpl', '#SECRET:ipmi:$NODE:password#\n');
    put('base/etc/hosts.tmpl', '#EACH:hosts#\n#ITEM:name#\n#END#\n');
    put('base/etc/key', 'of the overlay\n');
    chmodSync(join(install, 'overlays/base/etc/key'), 0o600);
    for (const name of ['with-secret', 'hosts', 'key']) writeFileSync(world.lab.path(0, `/etc/${name}`), 'here\n');
    const all = await diff();
    expect(all).toMatch(/^\/etc\/hosts: changed\n--- on the node/m);
    expect(all).toMatch(/^\/etc\/key: changed\n\/etc/m);
    expect(all).toMatch(/^\/etc\/with-secret: changed$/m);
    expect(all).not.toContain(secret);
    await world.server.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'annas-own' });
    const rule = { name: 'anna', commands: 'sendoverlay', noderange: 'n1', rule: 'allow' };
    await world.server.ok('POST', '/policy/5', rule);
    const login = { userName: 'anna', userPW: 'annas-own' };
    const token = (await world.server.ok('POST', '/tokens', login, { token: null })).token.id;
    const hers = await diff(token);
    expect(hers).toContain('/etc/hosts: changed');
    expect(hers).not.toMatch(/n2|^\+/m);
  });
});

it('the command line shows, compares and sends', async () => {
  const run = (...words: string[]) => ended(muster, ['overlay', ...words], environmentFor(world.server, install));
  writeFileSync(world.lab.path(0, '/etc/rack'), 'changed again\n');
  expect((await run('show', 'n1', '/etc/rack')).stdout).toBe('n1: node n1\nn1: group all\n');
  expect((await run('show', 'n1')).stdout).toMatch(/^n1: \/etc\/rack: file 0644 .* from a template in base$/m);
  expect((await run('show', 'n2')).stdout).toBe('n2: no overlay\n');
  expect((await run('diff', 'n1')).stdout).toMatch(/^n1: -changed again\nn1: \+node n1$/m);
  const sent = await run('send', 'n1,n2');
  expect([sent.code, sent.stdout, sent.stderr]).toEqual([
    1,
    expect.stringContaining('n1: /etc/rack: changed\n'),
    expect.stringMatching(/^n2: .*The node has no overlay/m),
  ]);
  expect((await run('diff', 'n1')).stdout).toBe('n1: no difference\n');
  expect((await run('send', 'n1')).stdout).toBe('n1: nothing to change\n');
  expect((await run('diff', 'n1', '/etc/rack')).stderr).toContain('Say what to do');
  expect((await run('push', 'n1')).code).toBe(2);
});
