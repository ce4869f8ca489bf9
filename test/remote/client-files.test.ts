import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import type { CallOptions } from '../harness/client.ts';
import { errorOf } from '../harness/errors.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { directory, file, hardLink, symbolicLink, tar, type TestEntry } from '../lab/oci/tar.ts';
import { type RemoteWorld, startWorld } from './world.ts';

const limit = 4_000_000;
let world: RemoteWorld;
let own: string;
let clerk: string;
beforeAll(async () => {
  const options = { count: 2, prefix: '127.127', port: 2612, perProcess: 1 };
  world = await startWorld(options, `connectSeconds = 60\nclientBytes = ${limit}`);
  clerk = await addUser(world.server, 'clerk');
  await world.server.ok('PUT', '/globalconf/attrs/remoteusers', { remoteusers: 'clerk:root' });
});
afterAll(() => world.stop());
beforeEach(() => {
  own = temporaryDirectory();
});

const arrived = (index: number, name: string): string => join(world.lab.home(index), name);
const send = (body: Buffer, target = 'in/', options: CallOptions = {}) =>
  world.server.call('PUT', '/nodes/t0,t1/files', {
    ...options,
    body,
    query: { target },
    headers: { 'Content-Type': 'application/x-tar', ...options.headers },
  });
/** What is stored of files of clients. */
const kept = (): string[] => readdirSync(join(world.server.data, 'client-files'));
const run = (...argv: string[]) => program(muster, argv, environmentFor(world.server, own));

describe('files that come with a request', () => {
  it('arrive with modes, times, links and names that are no UTF-8, and nothing stays behind', async () => {
    const tree = join(own, 'tree');
    mkdirSync(join(tree, 'sub'), { recursive: true });
    const bytes = randomBytes(1_500_000);
    writeFileSync(join(tree, 'sub/bytes'), bytes);
    chmodSync(join(tree, 'sub/bytes'), 0o751);
    symlinkSync('../else', join(tree, 'sub/link'));
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0x61])]), 'odd');
    const archive = execFileSync('tar', ['-c', '-C', own, 'tree'], { maxBuffer: 1 << 25 });
    const reply = await send(archive);
    expect([reply.status, reply.text]).toEqual([200, '']);
    for (const index of [0, 1]) {
      expect(readFileSync(arrived(index, 'in/tree/sub/bytes')).equals(bytes)).toBe(true);
      expect(statSync(arrived(index, 'in/tree/sub/bytes')).mode & 0o7777).toBe(0o751);
      expect(readlinkSync(arrived(index, 'in/tree/sub/link'))).toBe('../else');
      expect(readdirSync(arrived(index, 'in/tree'), { encoding: 'latin1' })).toContain('\u00ffa');
    }
    expect(kept()).toEqual([]);
  });

  it('may be two names of one file, and are one file with a new name', async () => {
    expect((await send(tar([directory('d'), file('d/a', 'same'), hardLink('d/b', 'd/a')]))).status).toBe(200);
    expect(readFileSync(arrived(1, 'in/d/b'), 'utf8')).toBe('same');
    expect((await send(tar([file('a', 'alone')]), 'renamed')).status).toBe(200);
    expect(readFileSync(arrived(0, 'renamed'), 'utf8')).toBe('alone');
  });

  it.each<[string, TestEntry[] | Buffer, string]>([
    ['an absolute name', [file('/etc/x', '')], 'names must be relative'],
    ['a way up', [file('../x', '')], 'names must be relative'],
    ['a way up inside', [directory('d'), file('d/../../x', '')], 'names must be relative'],
    ['a file below a link', [symbolicLink('d', '/etc'), file('d/x', '')], 'without the directory that it is in'],
    ['a file whose directory is missing', [file('d/x', '')], 'without the directory that it is in'],
    ['a name twice', [symbolicLink('x', '/etc/passwd'), file('x', '')], 'twice'],
    ['a second name of a file of this machine', [hardLink('x', '/etc/shadow')], 'names must be relative'],
    ['nothing', [], 'it is empty'],
    ['no archive', Buffer.from('x'.repeat(2_000)), 'no tar archive'],
    ['half an archive', tar([file('x', 'x'.repeat(5_000))]).subarray(0, 2_000), 'in the middle of a file'],
  ])('are refused with %s', async (_name, entries, sentence) => {
    const reply = await send(Buffer.isBuffer(entries) ? entries : tar(entries), 'refused/');
    expect(errorOf(reply)).toEqual([400, 2]);
    expect(reply.json.error[0]).toContain(sentence);
    expect(existsSync(arrived(0, 'refused'))).toBe(false);
    expect(kept()).toEqual([]);
  });

  it('are bounded in size, also where the archive says more than it has', async () => {
    const much = await send(tar([file('a', 'a'.repeat(limit))]));
    expect(errorOf(much)).toEqual([400, 2]);
    expect(much.json.error[0]).toContain('remote.clientBytes');
    expect(kept()).toEqual([]);
  });

  it('are read from nobody who may not copy, and not without a type', async () => {
    await world.server.ok('PUT', '/policy/60', { name: 'clerk', commands: 'lsdef', rule: 'allow' });
    const archive = tar([file('a', 'a')]);
    const denied = await send(archive, 'in/', { token: clerk });
    expect(errorOf(denied)).toEqual([403, 2]);
    expect(errorOf(await send(archive, 'in/', { token: null }))).toEqual([401, 2]);
    expect(errorOf(await send(archive, 'in/', { headers: { 'Content-Type': 'text/plain' } }))).toEqual([400, 2]);
    expect(errorOf(await send(archive, ''))).toEqual([400, 2]);
  });

  it('need a rule that names them where the rule has parameters', async () => {
    const parameters = async (text: string) => {
      await world.server.ok('PUT', '/policy/60', { name: 'clerk', commands: 'xdcp', rule: 'allow', parameters: text });
      return (await send(tar([file('motd', 'x')]), 'by-rule', { token: clerk })).status;
    };
    expect(await parameters(String.raw`^(-l root )?\S*motd by-rule$`)).toBe(403);
    expect(await parameters('^(-l root )?client:motd by-rule$')).toBe(200);
  });

  it('hold no link that leads out of the target, where a rule has parameters', async () => {
    const rule = {
      name: 'clerk',
      commands: 'xdcp',
      rule: 'allow',
      parameters: String.raw`^(-l root )?client:\S+ limited/$`,
    };
    await world.server.ok('PUT', '/policy/60', rule);
    for (const to of ['/tmp', 'a/../..']) {
      const reply = await send(tar([symbolicLink('l', to)]), 'limited/', { token: clerk });
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error.join(' ')).toContain('may lead only to what lies below');
    }
    expect(existsSync(arrived(0, 'limited'))).toBe(false);
    const down = await send(tar([directory('d'), symbolicLink('d/l', 'x')]), 'limited/', { token: clerk });
    expect(down.status).toBe(200);
  });

  it('are not sent by a dry run', async () => {
    const reply = await world.server.call('PUT', '/nodes/t0/files', {
      body: tar([file('a', 'a')]),
      query: { target: 'dry', dryRun: '1' },
      headers: { 'Content-Type': 'application/x-tar' },
    });
    expect([reply.status, reply.json.nodes]).toEqual([200, 1]);
    expect(existsSync(arrived(0, 'dry'))).toBe(false);
  });
});

describe('xdcp, pscp and prsync', () => {
  it('copy files of the caller, by relative paths', async () => {
    mkdirSync(join(own, 'dir/deep'), { recursive: true });
    writeFileSync(join(own, 'dir/deep/file'), 'mine');
    writeFileSync(join(own, 'single'), 'single');
    expect(await run('xdcp', 't0,t1', 'dir', './single', 'by-xdcp/')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(arrived(1, 'by-xdcp/dir/deep/file'), 'utf8')).toBe('mine');
    expect(readFileSync(arrived(0, 'by-xdcp/single'), 'utf8')).toBe('single');
    for (const name of ['pscp', 'prsync']) {
      expect(await run(name, 'single', `t0:by-${name}`)).toMatchObject({ code: 0, stdout: 't0: done\n' });
      expect(readFileSync(arrived(0, `by-${name}`), 'utf8')).toBe('single');
    }
  });

  it('say what is missing, and what they would send as curl', async () => {
    const missing = await run('xdcp', 't0', 'nosuch', '/tmp');
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stdout).toContain('t0: /usr/bin/scp: stat local "nosuch": No such file or directory');
    writeFileSync(join(own, 'a file'), '');
    const shown = (await run('xdcp', 't0', 'a file', 'x', '--curl')).stdout;
    expect(shown).toMatch(/^tar -c -C \S+ 'a file' \| curl .*-X PUT .*-T - .*\/nodes\/t0\/files\?target=x/);
  });

  it('copy files of the management node where that is asked for', async () => {
    const place = join(world.sources, 'there');
    writeFileSync(place, 'there');
    expect(await run('xdcp', 't0', '--server-files', place, 'from-server')).toMatchObject({ code: 0 });
    expect(readFileSync(arrived(0, 'from-server'), 'utf8')).toBe('there');
    expect((await run('xdcp', 't0', '--server-files', 'there', 'x')).stderr).toContain('give its whole path');
  });
});

describe('xdcp -P -R', () => {
  it('collects directories with modes, and nothing that leads out of them', async () => {
    const there = arrived(0, 'logs');
    mkdirSync(join(there, 'sub'), { recursive: true });
    writeFileSync(join(there, 'sub/log'), 'x'.repeat(3_000_000));
    chmodSync(join(there, 'sub/log'), 0o4640);
    symlinkSync('sub/log', join(there, 'inside'));
    symlinkSync('/etc/passwd', join(there, 'outside'));
    symlinkSync('sub/../../../x', join(there, 'roundabout'));
    const pulled = await run('xdcp', 't0', '-P', '-R', there, '.');
    expect(pulled).toMatchObject({ code: 0 });
    expect(pulled.stderr.split('\n').filter((line) => line.includes('left out'))).toHaveLength(2);
    const here = join(own, 'logs._t0');
    expect(readdirSync(here).sort()).toEqual(['inside', 'sub']);
    expect(readlinkSync(join(here, 'inside'))).toBe('sub/log');
    const { mode, size } = statSync(join(here, 'sub/log'));
    expect([mode & 0o7777, size]).toEqual([0o640, 3_000_000]);
    const again = await run('xdcp', 't0', '-P', '-R', there, '.');
    expect([again.code, again.stdout]).toEqual([1, expect.stringContaining('is there already')]);
    rmSync(join(there, 'inside'));
    expect(await run('xdcp', 't0', '-P', '-R', '--replace', there, '.')).toMatchObject({ code: 0 });
    expect(readdirSync(here)).toEqual(['sub']);
    expect(readdirSync(own).filter((name) => name.includes('muster'))).toEqual([]);
  });

  it('replaces directories that their owner may not change, and loses no copy', async () => {
    // As an ordinary user, who has to keep to the modes of own files.
    const pulled = () =>
      program(
        'setpriv',
        [
          '--bounding-set',
          '-dac_override,-dac_read_search',
          muster,
          'xdcp',
          't0,t1',
          '-P',
          '-R',
          '--replace',
          'ro',
          '.',
        ],
        environmentFor(world.server, own),
      );
    for (const index of [0, 1]) {
      mkdirSync(arrived(index, 'ro/sub'), { recursive: true });
      writeFileSync(arrived(index, 'ro/sub/file'), 'old');
      for (const each of ['ro/sub', 'ro']) chmodSync(arrived(index, each), 0o555);
    }
    for (const content of ['old', 'new']) {
      for (const index of [0, 1]) writeFileSync(arrived(index, 'ro/sub/file'), content);
      expect(await pulled()).toMatchObject({ code: 0 });
      for (const node of ['t0', 't1']) {
        expect(readFileSync(join(own, `ro._${node}/sub/file`), 'utf8')).toBe(content);
        expect(statSync(join(own, `ro._${node}`)).mode & 0o777).toBe(0o555);
      }
    }
    expect(readdirSync(own).filter((name) => name.includes('muster-'))).toEqual([]);
  });

  it('leaves nothing behind where a node has no such directory', async () => {
    const pulled = await run('xdcp', 't0,t1', '-P', '-R', '/nosuch/dir', '.');
    expect(pulled.code).toBe(1);
    expect(pulled.stdout).toContain('t0: ');
    expect(readdirSync(own).filter((name) => name.includes('t0') || name.includes('t1'))).toEqual([]);
  });
});
