import { existsSync, lstatSync, renameSync, utimesSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStream } from '../hardware/stream.ts';
import { errorOf } from '../harness/errors.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

let world: UpdateWorld;
beforeAll(async () => {
  world = await startUpdateWorld(2, '127.127', 2728);
  for (const name of ['common', 'image', 'own', 'boot1', 'boot2', 'boot3'])
    world.script(name, `#!/bin/sh\necho ${name} >> /opt/order\n`);
  world.script('hello', '#!/bin/sh\n. ./lib/greet.sh\ngreet "$NODE" "$@"\n');
  world.script('lib/greet.sh', 'greet() { echo "hello $*"; }\n');
  world.script('fails', '#!/bin/sh\necho out; echo err >&2; exit 7\n');
  world.script('killed', '#!/bin/sh\nkill -9 $$\n');
  world.script('environment', '#!/bin/sh\nenv -0 > /opt/environment\npwd > /opt/place\n');
});
afterAll(() => world?.stop());

const run = (range: string, ...scripts: string[]) =>
  world.server.ok('POST', `/nodes/${range}/postscript`, scripts.length > 0 ? { scripts } : {});
const done = 'Running of postscripts has completed.';

describe('named postscripts', () => {
  beforeEach(() => world.define({}));

  it('run on every node, find their neighbours, and are told with their exit codes', async () => {
    expect(await run('n1,n2', 'hello', 'fails')).toEqual(
      Object.fromEntries(
        ['n1', 'n2'].map((node) => [
          node,
          [
            'postscript start..: hello',
            `hello ${node}`,
            'postscript end....: hello exited with code 0',
            'postscript start..: fails',
            'out',
            'err',
            'postscript end....: fails exited with code 7',
            done,
          ],
        ]),
      ),
    );
    expect(await world.updateStatus('n1')).toBe('failed');
    await run('n1', 'hello');
    expect(await world.updateStatus('n1')).toBe('synced');
  });

  it('get their arguments unchanged', async () => {
    const script = `hello "two  blanks" $(touch /opt/pwned) ';' '\`x\`'`;
    const lines = (await run('n1', script)).n1;
    expect(lines[1]).toBe('hello n1 two  blanks $(touch /opt/pwned) ; `x`');
    expect(() => world.lab.read(0, '/opt/pwned')).toThrow('ENOENT');
  });

  it('that end by a signal are told so', async () => {
    const lines = (await run('n1', 'killed')).n1;
    expect(lines.at(-2)).toMatch(/^postscript end\.\.\.\.: killed (was ended by SIGKILL|exited with code 137)$/);
  });

  it('that print much are cut, with a note', async () => {
    world.script('noisy', '#!/bin/sh\nyes | head -c 5000000\n');
    const lines: string[] = (await run('n1', 'noisy', 'own')).n1;
    expect(lines[1]).toBe('y');
    expect(lines.length).toBeGreaterThan(100_000);
    expect(lines.slice(-5)).toEqual([
      expect.stringMatching(/^The output was cut after \d+ bytes; \d+ more are not shown\.$/),
      'postscript end....: noisy exited with code 0',
      'postscript start..: own',
      'postscript end....: own exited with code 0',
      done,
    ]);
  });

  it('that print much leave files that have not changed unsent afterwards', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `tree/${index}`);
    const sources = names.map((name) => world.source(name, name));
    const list = world.source('lists/tree', `${world.files}/tree -> /opt/tree`);
    await world.define({ synclists: list });
    await run('n1', 'syncfiles');
    const inodes = () => names.map((name) => lstatSync(world.lab.path(0, `/opt/${name}`)).ino);
    const before = inodes();
    for (const source of sources) utimesSync(source, 1_000_000_000, 1_000_000_000);
    world.script('noisy', '#!/bin/sh\nyes | head -c 5000000\n');
    await run('n1', 'noisy', 'syncfiles');
    expect(inodes()).toEqual(before);
    expect(lstatSync(world.lab.path(0, '/opt/tree/0')).mtimeMs).toBe(1e12);
  });

  const refused = async (name: string): Promise<void> => {
    const reply = await world.server.call('POST', '/nodes/n1,n2/postscript', { body: { scripts: ['own', name] } });
    expect([reply.status, reply.json.error]).toEqual([
      403,
      [`The postscript ${name} does not exist.`, `Nothing was run. Postscripts lie in ${world.scripts}.`],
    ]);
  };

  it('that do not exist are an error before anything is run', async () => {
    await refused('nosuch');
    expect(() => world.lab.read(1, '/opt/order')).toThrow('ENOENT');
    expect(await world.updateStatus('n1')).toBe('');
    for (const name of ['../initial-password', '../postscripts/own', 'lib/../own', '/bin/sh', 'lib', '.'])
      await refused(name);
  });

  it('are sent when they have changed only', async () => {
    await run('n1', 'hello');
    const { ino } = lstatSync(world.lab.path(0, '/xcatpost/hello'));
    const other = lstatSync(world.lab.path(0, '/xcatpost/own')).ino;
    world.script('hello', '#!/bin/sh\necho changed\n');
    expect((await run('n1', 'hello')).n1[1]).toBe('changed');
    expect(lstatSync(world.lab.path(0, '/xcatpost/hello')).ino).not.toBe(ino);
    expect(lstatSync(world.lab.path(0, '/xcatpost/own')).ino).toBe(other);
  });

  it('may be given as text, and a wrong member is refused', async () => {
    const reply = await world.server.call('POST', '/nodes/n1/postscript', { body: { scripts: 'common,own' } });
    expect(reply.json.n1.filter((line: string) => line.includes('start'))).toEqual([
      'postscript start..: common',
      'postscript start..: own',
    ]);
    for (const body of [{ scripts: 5 }, { scripts: [5] }, { script: ['own'] }])
      expect(errorOf(await world.server.call('POST', '/nodes/n1/postscript', { body }))).toEqual([400, 2]);
  });
});

describe('all postscripts', () => {
  const rows = {
    postscripts: [
      { node: 'xcatdefaults', postscripts: 'common,nosuch', postbootscripts: 'boot1' },
      { node: 'n1', postscripts: 'own', postbootscripts: 'boot3' },
    ],
  };

  it('run in the order of all nodes, image, node; first those after installing, then those after booting', async () => {
    await world.define({ postscripts: 'image', postbootscripts: 'boot2' }, rows);
    world.lab.write(0, '/opt/order', '');
    const { n1 } = await run('n1');
    expect(world.lab.read(0, '/opt/order').toString().trim().split('\n')).toEqual([
      'common',
      'image',
      'own',
      'boot1',
      'boot2',
      'boot3',
    ]);
    expect(n1).toContain('The postscript nosuch does not exist.');
    expect(n1).toContain('postbootscript start..: boot1');
    expect(n1).toContain('postbootscript end....: boot3 exited with code 0');
    expect(n1.at(-1)).toBe(done);
  });

  it('find site, node and image in the environment, whatever is in the values', async () => {
    const domain = `it's "$(touch /opt/pwned)"\` & $HOME`;
    const site = [
      { key: 'master', value: '127.0.0.1' },
      { key: 'domain', value: domain },
      { key: 'path', value: '/nowhere' },
      { key: 'apitoken', value: "it's two words" },
      { key: 'snmppassword', value: 'hush' },
    ];
    await world.define({ environvar: 'COLOUR=light blue,APITOKEN' }, { site });
    await run('n2', 'environment');
    const settings = world.lab.read(1, '/opt/environment').toString().split('\0');
    const environment = Object.fromEntries(settings.map((each) => each.split(/=(.*)/s, 2)));
    expect(environment).toMatchObject({
      NODE: 'n2',
      GROUP: 'all',
      NTYPE: 'compute',
      OSVER: 'debian12',
      ARCH: 'x86_64',
      PROFILE: 'compute',
      PROVMETHOD: 'img',
      IMAGENAME: 'img',
      MASTER: '127.0.0.1',
      SITEMASTER: '127.0.0.1',
      INSTALLDIR: '/install',
      UPDATENODE: '1',
      DOMAIN: domain,
      COLOUR: 'light blue',
      APITOKEN: "it's two words",
    });
    expect(environment).not.toHaveProperty('SNMPPASSWORD');
    expect(environment['PATH']).toMatch(/^\/xcatpost:.*\/bin/);
    expect(world.lab.read(1, '/opt/place').toString()).toBe('/xcatpost\n');
    expect(() => world.lab.read(1, '/opt/pwned')).toThrow('ENOENT');
  });
});

describe('nodes', () => {
  it('that cannot be reached are errors and hide the others only in the reply', async () => {
    await world.define({}, { hosts: [{ node: 'n1', ip: world.lab.addresses[0]! }] });
    const reply = await world.server.call('POST', '/nodes/n1,n2/postscript', { body: { scripts: ['own'] } });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual([expect.stringMatching(/^n2: .*no address is known of n2/)]);
    const stream = await world.server.call('POST', '/nodes/n1,n2/postscript', {
      body: { scripts: ['own'] },
      headers: { accept: 'application/x-ndjson' },
    });
    const lines = stream.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual({
      node: 'n1',
      value: ['postscript start..: own', 'postscript end....: own exited with code 0', done],
    });
    expect(lines.at(-1).summary).toEqual({ nodes: 2, ok: 1, failed: 1, errorcode: 1 });
  });

  it('stop what runs on them when the run is cancelled', async () => {
    world.script('slow', '#!/bin/sh\n[ "$NODE" = n1 ] || exit 0\necho $$ > /opt/slow\nexec sleep 4321\n');
    await world.define({});
    const stream = await openStream(world.server, 'POST', '/nodes/n1,n2/postscript', { scripts: ['slow'] });
    await vi.waitFor(() => expect(world.lab.read(0, '/opt/slow').toString()).toMatch(/^\d+\n$/), 15_000);
    await vi.waitFor(async () => expect(await world.updateStatus('n1')).toBe('syncing'), 15_000);
    await vi.waitFor(() => expect(stream.lines).toHaveLength(1), 15_000);
    await world.server.ok('DELETE', `/runs/${stream.run}`);
    await stream.ended;
    const results = stream.lines.map(({ json }) => json);
    expect(results[0]).toMatchObject({ node: 'n2', value: expect.anything() });
    expect(results[1]).toMatchObject({ node: 'n1', error: expect.stringContaining('cancelled') });
    expect(await world.updateStatus('n1')).toBe('failed');
    const process = `/proc/${world.lab.read(0, '/opt/slow').toString().trim()}`;
    await vi.waitFor(() => expect(existsSync(process)).toBe(false), 15_000);
  });

  it('that are lost in the middle have failed, and the others are done', async () => {
    world.script('slow', '#!/bin/sh\n[ "$NODE" = n1 ] || exit 0\necho $$ > /opt/lost\nexec sleep 4321\n');
    await world.define({});
    const call = world.server.call('POST', '/nodes/n1,n2/postscript', { body: { scripts: ['slow'] } });
    await vi.waitFor(() => expect(world.lab.read(0, '/opt/lost').toString()).toMatch(/^\d+\n$/), 15_000);
    world.lab.sever(0);
    const reply = await call;
    expect(reply.json.error).toEqual([
      expect.stringMatching(/^n1: the connection to its sshd at 127\.\d.*:2728 was lost/),
    ]);
    expect([await world.updateStatus('n1'), await world.updateStatus('n2')]).toEqual(['failed', 'synced']);
    expect((await run('n1', 'own')).n1.at(-1)).toBe(done);
  });

  it('are brought up to date by one at a time', async () => {
    world.script('overlap', '#!/bin/sh\necho "+$1" >> /opt/overlap\nsleep 0.3\necho "-$1" >> /opt/overlap\n');
    await world.define({});
    const replies = await Promise.all(['a', 'b', 'c'].map((word) => run('n1', `overlap ${word}`)));
    expect(replies.map(({ n1 }) => n1.at(-1))).toEqual([done, done, done]);
    const order = world.lab.read(0, '/opt/overlap').toString().trim().split('\n');
    expect(order).toHaveLength(6);
    for (const index of [0, 2, 4]) expect(order[index + 1]).toBe(`-${order[index]!.slice(1)}`);
  });

  it('that somebody waits for and no longer wants stay as they are', async () => {
    world.script('slow', '#!/bin/sh\n[ "$NODE" = n1 ] || exit 0\necho $$ > /opt/slower\nexec sleep 4321\n');
    await world.define({});
    const first = await openStream(world.server, 'POST', '/nodes/n1,n2/postscript', { scripts: ['slow'] });
    await vi.waitFor(() => expect(world.lab.read(0, '/opt/slower').toString()).toMatch(/^\d+\n$/), 15_000);
    await vi.waitFor(async () => expect(await world.updateStatus('n1')).toBe('syncing'), 15_000);
    const second = await openStream(world.server, 'POST', '/nodes/n1,n2/postscript', { scripts: ['own'] });
    await vi.waitFor(() => expect(second.lines).toHaveLength(1), 15_000);
    await world.server.ok('DELETE', `/runs/${second.run}`);
    await second.ended;
    expect(second.lines[0]!.json).toMatchObject({ node: 'n2', value: expect.anything() });
    expect(second.lines[1]!.json).toMatchObject({ node: 'n1', error: expect.stringContaining('cancelled') });
    expect(await world.updateStatus('n1')).toBe('syncing');
    await world.server.ok('DELETE', `/runs/${first.run}`);
    await first.ended;
    expect(await world.updateStatus('n1')).toBe('failed');
  });

  it('need no directory of scripts for what they have none of', async () => {
    const aside = `${world.scripts}.aside`;
    renameSync(world.scripts, aside);
    try {
      const defaults = { postscripts: [{ node: 'xcatdefaults', postscripts: 'own,syncfiles' }] };
      await world.define({}, defaults);
      expect((await run('n1')).n1).toEqual([
        'The postscript own does not exist.',
        'There were no syncfiles defined to process. File synchronization has completed.',
        done,
      ]);
      expect(await world.updateStatus('n1')).toBe('failed');
    } finally {
      renameSync(aside, world.scripts);
    }
  });

  it('are not updated by who may not be root there', async () => {
    await world.define(
      {},
      {
        passwd: [
          { key: 'xcat', username: 'root' },
          { key: 'xcat', username: 'alice', password: 'alices' },
        ],
        policy: [
          { priority: '1', name: 'root', rule: 'allow' },
          { priority: '2', name: 'alice', commands: 'updatenode', rule: 'allow' },
        ],
        site: [
          { key: 'master', value: '127.0.0.1' },
          { key: 'remoteusers', value: 'alice:root' },
        ],
      },
    );
    const account = { token: null, query: { userName: 'alice', userPW: 'alices' } };
    const reply = await world.server.call('POST', '/nodes/n1/postscript', { ...account, body: { scripts: ['own'] } });
    expect(errorOf(reply)).toEqual([403, 2]);
    expect(reply.json.error[0]).toContain('may not run updatenode as "root"');
    const rule = { name: 'alice', commands: 'updatenode', parameters: '-l root -P own', rule: 'allow' };
    await world.server.ok('PUT', '/tables/policy/rows/priority=1.5', rule);
    const allowed = await world.server.call('POST', '/nodes/n1/postscript', { ...account, body: { scripts: ['own'] } });
    expect([allowed.status, allowed.json.n1?.at(-1)]).toEqual([201, done]);
  });
});
