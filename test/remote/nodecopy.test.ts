import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions } from '../harness/client.ts';
import { errorOf } from '../harness/errors.ts';
import { addUser } from '../harness/users.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
const small = 3;
const dying = 4;
beforeAll(async () => {
  const options = {
    count: 6,
    prefix: '127.126',
    port: 2604,
    perProcess: 1,
    refusing: [5],
    disks: { [small]: 2_000_000 },
  };
  // A busy machine takes its time for a connection, and what is tried here are the copies.
  world = await startWorld(options, 'connectSeconds = 60');
});
afterAll(() => world.stop());

const copy = (range: string, src: unknown, target: string, options: CallOptions = {}) =>
  world.server.call('POST', `/nodes/${range}/nodecopy`, { ...options, body: { src, target } });
const source = (name: string): string => join(world.sources, name);
const arrived = (index: number, name: string): string => join(world.lab.home(index), name);
const done = (reply: { status: number; text: string }) => expect([reply.status, reply.text]).toEqual([201, '']);

function make(name: string, content: Buffer | string, mode = 0o640): string {
  writeFileSync(source(name), content);
  chmodSync(source(name), mode);
  utimesSync(source(name), 1_600_000_000, 1_500_000_000);
  return source(name);
}

const hasTemporary = (index: number): boolean =>
  readdirSync(world.lab.home(index)).some((name) => name.endsWith('.muster'));

describe('nodecopy', () => {
  it('copies a file to many nodes, byte for byte, with mode and times', async () => {
    const bytes = randomBytes(3_000_001);
    const file = make('file', bytes, 0o4751);
    done(await copy('t0-t2', [file], '.'));
    for (const index of [0, 1, 2]) {
      const { mode, mtimeMs, atimeMs } = statSync(arrived(index, 'file'));
      expect([mode & 0o7777, mtimeMs, atimeMs]).toEqual([0o4751, 1_500_000_000_000, 1_600_000_000_000]);
      expect(readFileSync(arrived(index, 'file')).equals(bytes)).toBe(true);
    }
  });

  it.each<[string, string[], string, string]>([
    ['into a directory that exists', ['a'], 'there', 'there/a'],
    ['into a directory that is missing', ['a'], 'new/deep/', 'new/deep/a'],
    ['to a new name', ['a'], 'renamed', 'renamed'],
    ['several into a missing directory', ['a', 'b'], 'both', 'both/b'],
    ['an empty one', ['empty'], 'none', 'none'],
    ['one with a hostile name', ["it's $(id) \n *"], 'odd', 'odd'],
    ['one with a hostile name into a directory', ["it's $(id) \n *", 'a'], 'hostile', "hostile/it's $(id) \n *"],
    ['to a hostile name', ['a'], 'x "y" `z`; ls', 'x "y" `z`; ls'],
  ])('copies %s', async (_name, names, target, path) => {
    mkdirSync(arrived(0, 'there'), { recursive: true });
    const sources = names.map((name) => make(name, name === 'empty' ? '' : `content of ${name}`));
    done(await copy('t0', sources, target));
    expect(readFileSync(arrived(0, path), 'utf8')).toBe(
      names.includes('empty') ? '' : `content of ${names.at(path.includes("it's") ? 0 : -1)}`,
    );
  });

  it('takes ~ in a target as the home', async () => {
    const file = make('tilde', 'x');
    done(await copy('t0', [file], '~/from-tilde'));
    done(await copy('t0', [file], '~'));
    done(await copy('t0', [file], '~/in/tilde/'));
    for (const name of ['from-tilde', 'tilde', 'in/tilde/tilde']) expect(existsSync(arrived(0, name))).toBe(true);
    expect(existsSync(arrived(0, '~'))).toBe(false);
  });

  it('makes of a time that SFTP has not the nearest one', async () => {
    const file = make('old', 'x');
    execFileSync('touch', ['-d', '1960-01-01', file]);
    done(await copy('t0', [file], '.'));
    expect(statSync(arrived(0, 'old')).mtimeMs).toBe(0);
  });

  it('takes one source as a text and an absolute target', async () => {
    done(await copy('t1', make('single', 'x'), `${world.lab.home(1)}/absolute`));
    expect(readFileSync(arrived(1, 'absolute'), 'utf8')).toBe('x');
  });

  it('copies directories with all that is in them', async () => {
    mkdirSync(source('tree/inner/empty'), { recursive: true });
    make('tree/one', 'one', 0o600);
    make('tree/inner/two', 'two', 0o444);
    const latin = Buffer.concat([Buffer.from(`${source('tree')}/`), Buffer.from([0x6e, 0xe9])]);
    writeFileSync(latin, 'no UTF-8');
    symlinkSync('../one', source('tree/inner/link'));
    symlinkSync('/etc/shadow', source('tree/outside'));
    chmodSync(source('tree/inner'), 0o555);
    utimesSync(source('tree/inner'), 1_60_000_000, 1_60_000_000);
    done(await copy('t0,t1', [source('tree')], '.'));
    // Once more over what is there.
    done(await copy('t0,t1', [source('tree')], '.'));
    for (const index of [0, 1]) {
      const at = (path: string) => arrived(index, `tree/${path}`);
      expect(readdirSync(at(''), { encoding: 'latin1' }).sort()).toEqual(['inner', 'n\u00e9', 'one', 'outside']);
      expect(readFileSync(at('one'), 'utf8')).toBe('one');
      expect(statSync(at('inner/two')).mode & 0o7777).toBe(0o444);
      expect(readlinkSync(at('inner/link'))).toBe('../one');
      expect([lstatSync(at('outside')).isSymbolicLink(), readlinkSync(at('outside'))]).toEqual([true, '/etc/shadow']);
      expect(statSync(at('inner/empty')).isDirectory()).toBe(true);
      expect([statSync(at('inner')).mode & 0o7777, statSync(at('inner')).mtimeMs]).toEqual([0o555, 1_60_000_000_000]);
    }
  });

  it('replaces a file in one step', async () => {
    const file = make('switch', Buffer.alloc(20_000_000, 'b'));
    writeFileSync(arrived(0, 'switch'), Buffer.alloc(10_000_000, 'a'));
    let over = false;
    const copying = copy('t0', [file], '.').finally(() => (over = true));
    const seen = new Set<string>();
    while (!over) {
      const bytes = readFileSync(arrived(0, 'switch'));
      seen.add(`${bytes.length} ${String.fromCharCode(bytes[0]!, bytes.at(-1)!)}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    done(await copying);
    expect([...seen].filter((each) => each !== '10000000 aa' && each !== '20000000 bb')).toEqual([]);
    expect(seen).toContain('10000000 aa');
    expect(statSync(arrived(0, 'switch')).size).toBe(20_000_000);
  });

  it('keeps the old file on a node whose disk is full, and leaves nothing there', async () => {
    const node = `t${small}`;
    await world.shell(node, 'echo old > big');
    const reply = await copy(`t0,${node}`, [make('big', randomBytes(5_000_000))], '.');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual([expect.stringMatching(/^t3: .*the disk is full/)]);
    expect((await world.shell(node, 'cat big; ls -A | grep muster || true')).json).toEqual({ [node]: ['old'] });
    expect(statSync(arrived(0, 'big')).size).toBe(5_000_000);
  });

  it('keeps the old file on a node that dies in the middle, and goes on with the others', async () => {
    writeFileSync(source('huge'), '');
    truncateSync(source('huge'), 60_000_000);
    writeFileSync(arrived(dying, 'huge'), 'old');
    const copying = copy(`t0,t${dying}`, [source('huge')], '.');
    await expect
      .poll(() => hasTemporary(dying), {
        timeout: 10_000,
        interval: 5,
      })
      .toBe(true);
    world.lab.sever(dying);
    const reply = await copying;
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toHaveLength(1);
    expect(reply.json.error[0]).toMatch(/^t4: /);
    expect(readFileSync(arrived(dying, 'huge'), 'utf8')).toBe('old');
    expect(statSync(arrived(0, 'huge')).size).toBe(60_000_000);
  });

  it.each<[string, () => string[], string, RegExp]>([
    ['a node that refuses', () => [make('a', 'a')], 't5', /refused the connection/],
    ['a target that is a file', () => [make('a', 'a'), make('b', 'b')], 't0', /blocked/],
    ['a source that is no file', () => ['/dev/null'], 't0', /neither a file nor a directory/],
  ])('reports %s', async (_name, sources, node, sentence) => {
    writeFileSync(arrived(0, 'blocked'), '');
    const reply = await copy(node, sources(), 'blocked');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(sentence);
  });

  it('tidies up when its run is cancelled', async () => {
    writeFileSync(source('cancelled'), '');
    truncateSync(source('cancelled'), 5_000_000_000);
    const begun = await world.begin('/nodes/t2,t5/nodecopy', { src: [source('cancelled')], target: '.' });
    let over = false;
    void begun.lines.finally(() => (over = true));
    // It is begun, or it ends and says why.
    await expect.poll(() => over || hasTemporary(2), { timeout: 120_000, interval: 5 }).toBe(true);
    await world.server.ok('DELETE', `/runs/${begun.run}`);
    expect(await begun.lines).toContainEqual({ node: 't2', error: 'The run was cancelled.' });
    await expect.poll(() => hasTemporary(2), { timeout: 60_000 }).toBe(false);
    expect(existsSync(arrived(2, 'cancelled'))).toBe(false);
  });

  it('goes on when the client leaves', async () => {
    writeFileSync(source('going-on'), '');
    truncateSync(source('going-on'), 60_000_000);
    const socket = await world.client.connect();
    const body = JSON.stringify({ src: [source('going-on')], target: '.' });
    socket.write(
      `POST /muster/nodes/t1/nodecopy HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${world.server.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect
      .poll(() => hasTemporary(1), {
        timeout: 10_000,
        interval: 5,
      })
      .toBe(true);
    socket.destroy();
    await expect.poll(() => existsSync(arrived(1, 'going-on'))).toBe(true);
    expect(statSync(arrived(1, 'going-on')).size).toBe(60_000_000);
  });
});

describe('sources of nodecopy', () => {
  /** Of an account without full rights. */
  let clerk: string;
  beforeAll(async () => {
    symlinkSync('/etc', source('way-out'));
    mkdirSync(source('pipes'));
    clerk = await addUser(world.server, 'clerk');
    await world.server.ok('PUT', '/policy/60', { name: 'clerk', commands: 'xdcp', rule: 'allow' });
  });

  it.each([
    '/etc/hostname',
    '/nosuch/file',
    '/',
    'relative',
    'SOURCES/way-out',
    'SOURCES/way-out/hostname',
    'SOURCES/../x',
    'SOURCESx',
    'DATA/secret.key',
  ])('must not be %s without full rights', async (path) => {
    const real = path.replace('SOURCES', world.sources).replace('DATA', world.server.data);
    for (const root of ['/muster', '/xcatws']) {
      const reply = await copy('t0', [real], '.', { root, token: clerk });
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error[0]).toMatch(/outside the directories|not an absolute path/);
    }
  });

  it('may lie anywhere but in the data of muster with full rights', async () => {
    done(await copy('t0', ['/etc/hostname'], './anywhere'));
    expect(readFileSync(arrived(0, 'anywhere'), 'utf8')).toBe(readFileSync('/etc/hostname', 'utf8'));
    for (const path of ['secret.key', 'ssh/id_ed25519', '.', '..']) {
      const reply = await copy('t0', [join(world.server.data, path)], '.');
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error[0]).toContain("part of muster's own data");
    }
  });

  it('keep their names though they lead back up', async () => {
    mkdirSync(source('up/sub'), { recursive: true });
    make('up/file', 'up');
    done(await copy('t1', [`${source('up/sub')}/..`], 'below/'));
    expect(readdirSync(arrived(1, 'below'))).toEqual(['up']);
    expect(readFileSync(arrived(1, 'below/up/file'), 'utf8')).toBe('up');
  });

  it.each<[string, string, string]>([
    ['a source', 'SOURCES/a\0b', 'x'],
    ['a target', 'SOURCES/a', 'x\0y'],
    ['a source that is no Unicode', 'SOURCES/\ud800', 'x'],
    ['a target that is no Unicode', 'SOURCES/a', '\ud800'],
  ])('and targets are names: not %s with a null byte or half a character', async (_name, path, target) => {
    make('a', 'a');
    for (const root of ['/muster', '/xcatws']) {
      const reply = await copy('t0', [path.replace('SOURCES', world.sources)], target, { root });
      expect(errorOf(reply)).toEqual([400, 2]);
      expect(reply.json.error[0]).toMatch(/^the (path|target) ".*" (contains a null byte|is not valid Unicode)/);
    }
  });

  it('and targets may have any other character in their names', async () => {
    const name = '\u0001\t\r\n\u001b[31m\u007f -rf';
    done(await copy('t0', [make(name, 'odd')], `-odd\u0001\r\n`));
    expect(readFileSync(arrived(0, '-odd\u0001\r\n'), 'utf8')).toBe('odd');
    done(await copy('t0', [make(name, 'odd')], 'odd-names/'));
    expect(readdirSync(arrived(0, 'odd-names'))).toEqual([name]);
  });

  it('are a thousand at most', async () => {
    const reply = await copy('t0', Array(1_001).fill(make('a', 'a')), 'x/');
    expect(reply.status).toBe(400);
    expect(reply.json.error[0]).toContain('src must be string or must not have more than 1000 items');
  });

  it('have 100,000 files at most', async () => {
    mkdirSync(source('many'));
    execFileSync('sh', ['-c', 'seq 100000 | xargs touch'], { cwd: source('many') });
    const reply = await copy('t0', [source('many')], 'x/');
    expect(reply.json.error).toEqual(['t0: there are more than 100000 files to send; send an archive instead.']);
    execFileSync('rm', ['-r', source('many')]);
  });

  it('have different names', async () => {
    mkdirSync(source('other'), { recursive: true });
    const reply = await copy('t0', [make('a', '1'), make('other/a', '2')], 'x/');
    expect(reply.json.error).toEqual(['t0: two of the sources are named a; copy them one by one.']);
  });

  it('are files, directories and links', async () => {
    execFileSync('mkfifo', [source('pipes/pipe')]);
    const reply = await copy('t0', [source('pipes')], '.');
    expect(reply.json.error[0]).toMatch(/^t0: .*pipe cannot be sent: it is neither/);
  });

  it('must exist', async () => {
    expect((await copy('t0', [source('missing')], '.')).json.error[0]).toContain('There is no file');
  });

  it.each<[string, string, string[], boolean]>([
    ['the path', '^/etc/hostname ', ['/etc/hostname'], true],
    ['everything', '.*', ['/etc/hostname'], false],
    ['the target', '/srv', ['/etc/hostname'], false],
    ['another path', '^/etc/hosts ', ['/etc/hostname'], false],
    ['one of two paths', '/etc/hosts', ['/etc/hosts', '/etc/hostname'], false],
    ['a directory that is left again', '^/usr/', ['/usr/../etc/hostname'], false],
  ])('may lie elsewhere if a rule allows %s: %s', async (_name, parameters, sources, allowed) => {
    await world.server.ok('POST', '/policy/0.5', { name: 'clerk', commands: 'xdcp', parameters, rule: 'allow' });
    const reply = await copy('t0', sources, `${world.lab.home(0)}/srv`, { token: clerk });
    // Whoever gets past the rules fails at the node, which does not know the clerk.
    const sentence = allowed ? 'does not accept user' : 'outside the directories';
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringContaining(sentence)]);
    await world.server.ok('DELETE', '/policy/0.5');
  });

  it("are never muster's own data, whatever the policy says", async () => {
    const parameters = `^${world.server.data}`;
    await world.server.ok('POST', '/policy/0.5', { name: 'root', commands: 'xdcp', parameters, rule: 'allow' });
    for (const name of ['secret.key', 'ssh/id_ed25519', '']) {
      const reply = await copy('t0', [join(world.server.data, name)], '.');
      expect(reply.json.error[0]).toContain("muster's own data");
    }
    await world.server.ok('DELETE', '/policy/0.5');
  });

  it('need the permission for xdcp', async () => {
    const token = await addUser(world.server, 'carol');
    expect(errorOf(await copy('t0', [make('a', 'a')], '.', { token }))).toEqual([403, 2]);
  });

  it.each<[string, object, number]>([
    ['no source', { target: '/tmp' }, 403],
    ['no target', { src: ['/x'] }, 403],
    ['an empty list', { src: [], target: '/tmp' }, 400],
    ['an empty target', { src: ['/x'], target: '' }, 400],
  ])('and target are wanted: %s', async (_name, body, status) => {
    const reply = await world.server.call('POST', '/nodes/t0/nodecopy', { root: '/xcatws', body });
    expect(reply.status).toBe(status);
  });
});
