import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

let world: UpdateWorld;
beforeAll(async () => {
  world = await startUpdateWorld(2, '127.127', 2727);
});
afterAll(() => world?.stop());

let lists = 0;

/** Synchronises by a list of these lines; what the client gets. */
async function sync(lines: readonly string[], range = 'n1,n2'): Promise<string[]> {
  const list = world.source(`lists/${++lists}.synclist`, lines.join('\n'));
  await world.define({ synclists: list });
  return again(range);
}

const again = (range = 'n1,n2'): Promise<string[]> => world.server.ok('POST', `/nodes/${range}/filesyncing`, {});
const both = ['File synchronization has completed for nodes: "n1,n2"'];

/** Changes whenever a file is replaced or touched. */
const mark = (index: number, file: string): string => {
  const { ino, mtimeMs, ctimeMs } = lstatSync(world.lab.path(index, file));
  return `${ino} ${mtimeMs} ${ctimeMs}`;
};

/** Bytes the server has handed to the system to write, sockets included. */
const written = (): number =>
  Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${world.server.child.pid}/io`, 'utf8'))![1]);

describe('files', () => {
  it('arrive byte for byte with mode, time and owner', async () => {
    const content = randomBytes(300_000);
    const path = world.source('data.bin', content, 0o640);
    chownSync(path, 12, 34);
    chmodSync(path, 0o4750);
    utimesSync(path, 1_000_000_000, 1_000_000_000);
    expect(await sync([`${path} -> /opt/new/place/data.bin`])).toEqual(both);
    for (const index of [0, 1]) {
      expect(world.lab.read(index, '/opt/new/place/data.bin').equals(content)).toBe(true);
      const { mode, mtimeMs, uid, gid } = lstatSync(world.lab.path(index, '/opt/new/place/data.bin'));
      expect([mode & 0o7777, mtimeMs, uid, gid]).toEqual([0o4750, 1e12, 12, 34]);
    }
    expect(await world.updateStatus('n1')).toBe('synced');
  });

  it('go into a directory when there are several, a wildcard, a slash or a directory on the node', async () => {
    const paths = ['w/a.conf', 'w/b.conf', 'w/c.txt', 'w/.hidden.conf'].map((name) => world.source(name, name));
    world.lab.write(0, '/opt/is-directory/x', '');
    await sync([
      `${paths[0]} ${paths[2]} -> /opt/several`,
      `${join(world.files, 'w')}/*.conf -> /opt/wild`,
      `${paths[0]} -> /opt/slash/`,
      `${paths[0]} -> /opt/is-directory`,
    ]);
    const names = [
      'several/a.conf',
      'several/c.txt',
      'wild/a.conf',
      'wild/b.conf',
      'slash/a.conf',
      'is-directory/a.conf',
    ];
    expect(names.map((name) => world.lab.read(0, `/opt/${name}`).toString())).toEqual(
      names.map((name) => `w/${name.split('/')[1]}`),
    );
    expect(() => world.lab.read(0, '/opt/wild/c.txt')).toThrow('ENOENT');
    expect(() => world.lab.read(0, '/opt/wild/.hidden.conf')).toThrow('ENOENT');
    expect(world.lab.read(1, '/opt/is-directory').toString()).toBe('w/a.conf');
  });

  it('of a directory come with all names the system allows, and links stay links', async () => {
    const names = [
      "it's",
      '$(touch pwned)',
      'a\nb',
      '`x`',
      '-rf',
      ' two  blanks ',
      '*',
      '\\',
      '"',
      'ünï',
      ';&|',
      '#',
      'x'.repeat(255),
    ];
    const directory = join(world.files, 'hostile');
    for (const name of names) world.source(`hostile/${name}`, `content of ${name}`);
    const raw = Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0xfe])]);
    writeFileSync(raw, 'no UTF-8');
    mkdirSync(join(directory, 'empty'), { mode: 0o711 });
    symlinkSync('../../nowhere', join(directory, 'link'));
    await sync([`${directory} -> /opt/hostile`]);
    for (const name of names) expect(world.lab.read(1, `/opt/hostile/${name}`).toString()).toBe(`content of ${name}`);
    const rawThere = Buffer.concat([Buffer.from(`${world.lab.path(1, '/opt/hostile')}/`), Buffer.from([0xff, 0xfe])]);
    expect(readFileSync(rawThere, 'utf8')).toBe('no UTF-8');
    expect(lstatSync(world.lab.path(1, '/opt/hostile/empty')).mode & 0o170777).toBe(0o040711);
    expect(readlinkSync(world.lab.path(1, '/opt/hostile/link'))).toBe('../../nowhere');
    const marks = names.map((name) => mark(0, `/opt/hostile/${name}`));
    for (const name of names) utimesSync(join(directory, name), 5, 5);
    await again();
    // Same size, another time: their hashes were compared, whatever they are called.
    expect(names.map((name) => mark(0, `/opt/hostile/${name}`).split(' ')[0])).toEqual(
      marks.map((each) => each.split(' ')[0]),
    );
    expect(lstatSync(world.lab.path(0, '/opt/hostile/a\nb')).mtimeMs).toBe(5_000);
  });

  it('that have not changed do not travel', async () => {
    const size = 8 << 20;
    const path = world.source('big.bin', randomBytes(size));
    utimesSync(path, 1_000_000_000, 1_000_000_000);
    const first = written();
    await sync([`${path} -> /opt/big.bin`]);
    expect(written() - first).toBeGreaterThan(2 * size);
    const marks = [mark(0, '/opt/big.bin'), mark(1, '/opt/big.bin')];
    const before = written();
    expect(await again()).toEqual(both);
    expect(written() - before).toBeLessThan(size / 8);
    expect([mark(0, '/opt/big.bin'), mark(1, '/opt/big.bin')]).toEqual(marks);
    // Another time alone: the hash says that nothing has to be sent.
    utimesSync(path, 1_100_000_000, 1_100_000_000);
    await again();
    expect(written() - before).toBeLessThan(size / 4);
    expect(lstatSync(world.lab.path(0, '/opt/big.bin')).mtimeMs).toBe(1.1e12);
  });

  it('that change twice within a second travel twice', async () => {
    const time = Math.floor(Date.now() / 1_000);
    for (const content of ['one', 'two']) {
      const path = world.source('restless', content);
      utimesSync(path, time, time);
      if (content === 'one') await sync([`${path} -> /opt/restless`]);
    }
    await again();
    expect(world.lab.read(0, '/opt/restless').toString()).toBe('two');
  });

  it('that differ on one node travel there, also when size or time are the same', async () => {
    const path = world.source('small', 'right');
    utimesSync(path, 1_200_000_000, 1_200_000_000);
    await sync([`${path} -> /opt/small`]);
    const untouched = mark(1, '/opt/small');
    world.lab.write(0, '/opt/small', 'wrong');
    await again();
    expect(world.lab.read(0, '/opt/small').toString()).toBe('right');
    expect(mark(1, '/opt/small')).toBe(untouched);
    world.lab.write(0, '/opt/small', 'longer than it was');
    utimesSync(world.lab.path(0, '/opt/small'), 1_200_000_000, 1_200_000_000);
    chmodSync(world.lab.path(1, '/opt/small'), 0o600);
    await again();
    expect(world.lab.read(0, '/opt/small').toString()).toBe('right');
    expect(lstatSync(world.lab.path(1, '/opt/small')).mode & 0o777).toBe(0o644);
  });

  it('of a large tree travel together the first time, and later only those that differ', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `roomy/${index % 7}/it's ${index}`);
    for (const name of names) {
      const path = world.source(name, `content of ${name}`, 0o640);
      chownSync(path, 12, 34);
      utimesSync(path, 1_000_000_000, 1_000_000_000);
    }
    symlinkSync('0', join(world.files, 'roomy/link'));
    chmodSync(join(world.files, names[8]!), 0o4750);
    world.lab.write(0, '/opt/roomy/1/other', 'stays');
    expect(await sync([`${join(world.files, 'roomy')} -> /opt/roomy`])).toEqual(both);
    const marks = (index: number): string[] => names.map((name) => mark(index, `/opt/${name}`));
    for (const index of [0, 1]) {
      const { mode, mtimeMs, uid, gid } = lstatSync(world.lab.path(index, `/opt/${names[8]}`));
      expect([mode & 0o7777, mtimeMs, uid, gid]).toEqual([0o4750, 1e12, 12, 34]);
      expect(world.lab.read(index, `/opt/${names[299]}`).toString()).toBe(`content of ${names[299]}`);
      expect(readlinkSync(world.lab.path(index, '/opt/roomy/link'))).toBe('0');
    }
    expect(world.lab.read(0, '/opt/roomy/1/other').toString()).toBe('stays');
    const before = [marks(0), marks(1)];
    const sent = written();
    expect(await again()).toEqual(both);
    expect([marks(0), marks(1)]).toEqual(before);
    // A question for each file would be more.
    expect(written() - sent).toBeLessThan(100_000);
    world.lab.write(0, `/opt/${names[3]}`, 'wrong');
    chmodSync(world.lab.path(0, `/opt/${names[4]}`), 0o600);
    rmSync(world.lab.path(0, `/opt/${names[5]}`));
    rmSync(world.lab.path(0, '/opt/roomy/link'));
    expect(await again()).toEqual(both);
    for (const index of [3, 5]) {
      const there = world.lab.read(0, `/opt/${names[index]}`).toString();
      expect(there).toBe(`content of ${names[index]}`);
    }
    expect(lstatSync(world.lab.path(0, `/opt/${names[4]}`)).mode & 0o777).toBe(0o640);
    expect(readlinkSync(world.lab.path(0, '/opt/roomy/link'))).toBe('0');
    const others = (list: string[]): string[] => list.filter((_, index) => index < 3 || index > 5);
    expect(others(marks(0))).toEqual(others(before[0]!));
    expect(marks(1)).toEqual(before[1]);
  });

  it('that two lines put in the same place are those of the later line', async () => {
    const paths = ['1st', '2nd'].map((name) => world.source(name, name));
    await sync(paths.map((path) => `${path} -> /opt/contested`));
    expect(world.lab.read(0, '/opt/contested').toString()).toBe('2nd');
  });

  it('replace a link on the node, not what it leads to', async () => {
    world.lab.write(0, '/opt/precious', 'precious');
    symlinkSync('/opt/precious', world.lab.path(0, '/opt/link'));
    await sync([`${world.source('small', 'new')} -> /opt/link`]);
    expect(world.lab.read(0, '/opt/link').toString()).toBe('new');
    expect(world.lab.read(0, '/opt/precious').toString()).toBe('precious');
  });

  it('go to the nodes of a range only', async () => {
    const path = world.source('small', 'some');
    expect(await sync([`${path} -> (n2) /opt/only`, `${path} -> (all,-n2) /opt/others`])).toEqual(both);
    expect(world.lab.read(1, '/opt/only').toString()).toBe('some');
    expect(world.lab.read(0, '/opt/others').toString()).toBe('some');
    expect(() => world.lab.read(0, '/opt/only')).toThrow('ENOENT');
    expect(() => world.lab.read(1, '/opt/others')).toThrow('ENOENT');
  });
});

describe('scripts of a list', () => {
  it('run after the file of their name has changed, or always', async () => {
    const file = world.source('app.conf', 'one');
    const post = world.source('app.conf.post', '#!/bin/sh\necho restarted; echo x >> /opt/restarts\n', 0o755);
    const always = world.source('always.sh', '#!/bin/sh\necho y >> /opt/always\n', 0o755);
    const lines = [`${file} ${post} ${always} -> /opt/app/`, 'EXECUTE:', post, 'EXECUTEALWAYS:', always];
    expect(await sync(lines)).toEqual([...both, 'n1: restarted', 'n2: restarted']);
    expect(await again()).toEqual(both);
    world.source('app.conf', 'two');
    expect(await again('n1')).toEqual(['File synchronization has completed for nodes: "n1"', 'n1: restarted']);
    expect(world.lab.read(0, '/opt/restarts').toString()).toBe('x\nx\n');
    expect(world.lab.read(1, '/opt/restarts').toString()).toBe('x\n');
    expect(world.lab.read(0, '/opt/always').toString()).toBe('y\ny\ny\n');
  });

  it('that no line brings to the nodes travel by themselves', async () => {
    const file = world.source('plain.conf', 'one');
    const post = world.source('plain.conf.post', '#!/bin/sh\necho "$0" restarted\n');
    const other = world.source('other.conf', 'one');
    const idle = world.source('other.conf.post', '#!/bin/sh\necho never\n');
    const always = world.source('loose.sh', '#!/bin/sh\necho always\n');
    const scripts = ['EXECUTE:', post, idle, 'EXECUTEALWAYS:', always];
    const place = `/var/xcat/node/syncfiles/scripts${post}`;
    expect(await sync([`${file} -> (n1) /opt/plain.conf`, `${other} -> (n2) /opt/other.conf`, ...scripts])).toEqual([
      ...both,
      `n1: ${place} restarted`,
      'n1: always',
      'n2: never',
      'n2: always',
    ]);
    expect(await again()).toEqual([...both, 'n1: always', 'n2: always']);
    expect(await sync(['EXECUTEALWAYS:', always], 'n1')).toEqual([
      'File synchronization has completed for nodes: "n1"',
      'n1: always',
    ]);
  });

  it('that failed run again until they succeed, also for a file that is appended', async () => {
    const script = (name: string): string =>
      world.source(`${name}.post`, `#!/bin/sh\n[ -e /opt/ready ] || exit 3\necho ${name} done\n`, 0o755);
    const [copied, appended] = [world.source('copied', 'one'), world.source('appended', 'one')];
    const posts = [script('copied'), script('appended')];
    const list = world.source(
      'lists/retry',
      [
        `${copied} ${posts.join(' ')} -> /opt/retry/`,
        'APPEND:',
        `${appended} -> /opt/retried`,
        'EXECUTE:',
        ...posts,
      ].join('\n'),
    );
    await world.define({ synclists: list });
    for (const _ of ['first', 'again']) {
      const reply = await world.server.call('POST', '/nodes/n1/filesyncing', { body: {} });
      expect(reply.json.error).toEqual(['n1: File synchronization failed: /opt/retry/copied.post exited with code 3.']);
      expect(await world.updateStatus('n1')).toBe('failed');
    }
    world.lab.write(0, '/opt/ready', '');
    const synced = 'File synchronization has completed for nodes: "n1"';
    expect(await again('n1')).toEqual([synced, 'n1: copied done', 'n1: appended done']);
    expect(await again('n1')).toEqual([synced]);
    expect(readdirSync(world.lab.path(0, '/var/xcat/node/syncfiles/due'))).toEqual([]);
  });

  it('that fail are an error of the node, and the others are done', async () => {
    const script = world.source(
      'fail.sh',
      '#!/bin/sh\n[ -e /opt/fails ] && { echo no such luck >&2; exit 3; }\ntrue\n',
      0o755,
    );
    world.lab.write(1, '/opt/fails', '');
    const list = world.source('lists/fail', `${script} -> /opt/\nEXECUTEALWAYS:\n${script}`);
    await world.define({ synclists: list });
    const reply = await world.server.call('POST', '/nodes/n1,n2/filesyncing', { body: {} });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual([
      'n2: File synchronization failed: /opt/fail.sh exited with code 3: no such luck',
    ]);
    expect([await world.updateStatus('n1'), await world.updateStatus('n2')]).toEqual(['synced', 'failed']);
  });
});

describe('APPEND', () => {
  it('does not put a second time behind a file what packing the image has put there', async () => {
    world.lab.write(0, '/opt/packed', 'base\n1\n2\n');
    const [one, two] = [world.source('one', '1'), world.source('two', '2\n')];
    await sync(['APPEND:', `${one} -> /opt/packed`, `${two} -> /opt/packed`], 'n1');
    expect(world.lab.read(0, '/opt/packed').toString()).toBe('base\n1\n2\n');
    world.source('two', '3\n');
    await sync(['APPEND:', `${one} -> /opt/packed`, `${two} -> /opt/packed`], 'n1');
    expect(world.lab.read(0, '/opt/packed').toString()).toBe('base\n1\n3\n');
  });

  it('puts files behind the original, as often as it is done', async () => {
    for (const index of [0, 1]) world.lab.write(index, '/opt/hosts', index === 0 ? 'original' : 'original\n', 0o600);
    const one = world.source('one', '1\n');
    const two = world.source('two', '2');
    await sync(['APPEND:', `${one} -> /opt/hosts`, `${two} -> /opt/hosts`, `${two} -> (n2) /opt/absent`]);
    for (const index of [0, 1]) expect(world.lab.read(index, '/opt/hosts').toString()).toBe('original\n1\n2');
    const kept = mark(0, '/opt/hosts');
    await again();
    expect(mark(0, '/opt/hosts')).toBe(kept);
    world.source('one', 'other\n');
    await again();
    expect(world.lab.read(1, '/opt/hosts').toString()).toBe('original\nother\n2');
    expect(lstatSync(world.lab.path(1, '/opt/hosts')).mode & 0o777).toBe(0o600);
    expect(world.lab.read(0, '/var/xcat/node/syncfiles/org/opt/hosts').toString()).toBe('original');
    expect(world.lab.read(1, '/opt/absent').toString()).toBe('2');
  });

  it('makes the directories that are missing, as copies do', async () => {
    await sync(['APPEND:', `${world.source('one', '1\n')} -> /opt/missing/so/far`]);
    expect(world.lab.read(0, '/opt/missing/so/far').toString()).toBe('1\n');
    expect(lstatSync(world.lab.path(0, '/opt/missing/so')).mode & 0o777).toBe(0o755);
  });

  it('takes no half-made copy for the original', async () => {
    world.lab.write(0, '/opt/half', 'original\n');
    world.lab.write(0, '/var/xcat/node/syncfiles/org/opt/half.new', 'orig');
    await sync(['APPEND:', `${world.source('one', '1\n')} -> /opt/half`], 'n1');
    expect(world.lab.read(0, '/opt/half').toString()).toBe('original\n1\n');
    expect(world.lab.read(0, '/var/xcat/node/syncfiles/org/opt/half').toString()).toBe('original\n');
    expect(readdirSync(world.lab.path(0, '/var/xcat/node/syncfiles/org/opt'))).not.toContain('half.new');
  });
});

describe('MERGE', () => {
  it('makes a file that is missing', async () => {
    rmSync(world.lab.path(1, '/etc/group'));
    const lines = 'one:x:1:\ntwo:x:2:\n';
    await sync(['MERGE:', `${world.source('group', lines)} -> /etc/group`], 'n2');
    expect(world.lab.read(1, '/etc/group').toString()).toBe(lines);
    world.lab.write(1, '/etc/group', world.lab.read(0, '/etc/group'));
  });

  it('replaces entries by name, adds new ones and leaves the rest', async () => {
    const before = world.lab.read(0, '/etc/passwd').toString();
    const shadow = lstatSync(world.lab.path(0, '/etc/shadow'));
    const more = 'games:x:5:60:changed:/usr/games:/bin/false\nalice:x:1000:1000::/home/alice:/bin/sh\n';
    const path = world.source('passwd', more);
    const secret = world.source('shadow', 'alice:*:1:0:99999:7:::\n', 0o600);
    const empty = world.source('group', '');
    const group = world.lab.read(0, '/etc/group').toString();
    const lines = ['MERGE:', `${path} -> /etc/passwd`, `${secret} -> /etc/shadow`, `${empty} -> /etc/group`];
    await sync(lines);
    const expected = `${before.replace(/^games:.*$/m, more.split('\n')[0]!)}${more.split('\n')[1]}\n`;
    expect(world.lab.read(0, '/etc/passwd').toString()).toBe(expected);
    const { mode, uid, gid } = lstatSync(world.lab.path(0, '/etc/shadow'));
    expect([mode, uid, gid]).toEqual([shadow.mode, shadow.uid, shadow.gid]);
    expect(world.lab.read(0, '/etc/shadow').toString()).toMatch(/^root:[^]*\nalice:\*:1:/);
    expect(world.lab.read(0, '/etc/group').toString()).toBe(group);
    const kept = mark(0, '/etc/passwd');
    await again();
    expect(mark(0, '/etc/passwd')).toBe(kept);
  });
});

describe('what is wrong', () => {
  const fails = async (lines: readonly string[]): Promise<string[]> => {
    const list = world.source(`lists/${++lists}.synclist`, lines.join('\n'));
    await world.define({ synclists: list });
    const reply = await world.server.call('POST', '/nodes/n1/filesyncing', { body: {} });
    expect(errorOf(reply)).toEqual([403, 1]);
    return reply.json.error;
  };

  it.each([
    ['a source outside the directories', ['/etc/shadow -> /opt/x'], 'is outside the directories'],
    ['a wildcard outside the directories', ['/etc/ssh/* -> /opt/x'], '/etc/ssh is outside the directories'],
    ['a line', ['nonsense'], 'line 1: expected "source -> destination"'],
    ['a clause', ['DELETE:'], 'there is no clause'],
  ])('in %s is told with its line', async (_what, lines, message) => {
    const [error] = await fails(lines);
    expect(error).toContain(message);
    expect(error).toMatch(/^n1: File synchronization failed: .*synclist, line \d+: /);
  });

  it('is a source or a script that leads outside by a link, is missing or is no file', async () => {
    const link = join(world.files, 'outside');
    symlinkSync('/etc/passwd', link);
    expect((await fails([`${link} -> /opt/x`]))[0]).toContain('is outside the directories');
    expect((await fails([`${world.files}/none -> /opt/x`]))[0]).toContain('There is no file');
    expect((await fails(['EXECUTEALWAYS:', `${world.files}/none`]))[0]).toMatch(/line 2: There is no file/);
    expect((await fails(['EXECUTEALWAYS:', link]))[0]).toContain('is outside the directories');
    expect((await fails(['EXECUTEALWAYS:', join(world.files, 'lists')]))[0]).toContain('is not a file');
    expect((await fails([`${join(world.server.data, 'secret.key')} -> /opt/x`]))[0]).toContain(
      'is outside the directories',
    );
    rmSync(link);
  });

  it('is a directory on the node where a file has to be, and the other way round', async () => {
    world.source('kinds/a', 'file');
    world.source('kinds/b/c', 'file');
    world.lab.write(0, '/opt/kinds/a/x', '');
    expect((await fails([`${world.files}/kinds -> /opt/kinds`]))[0]).toContain(
      '/opt/kinds/a is a directory on the node',
    );
    rmSync(world.lab.path(0, '/opt/kinds'), { recursive: true });
    world.lab.write(0, '/opt/kinds/b', '');
    expect((await fails([`${world.files}/kinds -> /opt/kinds`]))[0]).toContain(
      '/opt/kinds/b must be a directory on the node',
    );
  });

  it('is a directory where files are joined', async () => {
    world.lab.write(0, '/opt/joined/x', '');
    const [error] = await fails(['APPEND:', `${world.source('one', '1')} -> /opt/joined`]);
    expect(error).toMatch(/synclist, line 2: \/opt\/joined is a directory there/);
  });

  it('is a node that does not exist, or a range that cannot be read', async () => {
    const path = world.source('small', 'some');
    expect((await fails([`${path} -> (n1,nosuch) /opt/x`]))[0]).toMatch(/synclist, line 1: .*nosuch/);
    expect((await fails([`${path} -> (n5-n3) /opt/x`]))[0]).toMatch(/^n1: File synchronization failed: .*n5-n3/);
  });

  it('is a copy to what another line appends to, on nodes that both are for', async () => {
    const path = world.source('base', 'base');
    for (const destination of ['/opt/base', '/opt/', '/opt//base']) {
      const [error] = await fails([`${path} -> ${destination}`, 'APPEND:', `${path} -> /opt/base`]);
      expect(error).toMatch(/synclist, line 1 copies a file to \/opt\/base, and .*synclist, line 3 appends to it/);
    }
    expect(() => world.lab.read(0, '/opt/base')).toThrow('ENOENT');
    expect(await sync([`${path} -> (n1) /opt/base`, 'APPEND:', `${path} -> (n2) /opt/base`])).toEqual(both);
  });

  it('is a member of the body', async () => {
    await world.define({});
    for (const word of ['updating', 'filesyncing', 'sw'])
      expect(errorOf(await world.server.call('POST', `/nodes/n1/${word}`, { body: { x: 1 } }))).toEqual([400, 2]);
  });

  it('is a list outside the directories, a missing one, a pipe or a very long file', async () => {
    spawnSync('mkfifo', [join(world.files, 'pipe')]);
    truncateSync(world.source('large', ''), 5 << 20);
    for (const name of ['/etc/passwd', 'none', '', 'pipe', 'large']) {
      const list = resolve(world.files, name);
      await world.define({ synclists: list });
      const reply = await world.server.call('POST', '/nodes/n1/filesyncing', { body: {} });
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error[0]).toMatch(/^n1: File synchronization failed: /);
    }
  });

  it('is not that a node has no list', async () => {
    await world.define({});
    const none = 'There were no syncfiles defined to process. File synchronization has completed.';
    expect(await again()).toEqual([none]);
    // Nobody was asked whether the nodes are there.
    expect(await world.updateStatus('n1')).toBe('');
    const list = world.source('lists/one', `${world.source('small', 'some')} -> /opt/one`);
    await world.define({ synclists: list }, { nodetype: [{ node: 'n1', provmethod: 'img', arch: 'x86_64' }] });
    expect(await again()).toEqual(['File synchronization has completed for nodes: "n1"', `n2: ${none}`]);
    expect([await world.updateStatus('n1'), await world.updateStatus('n2')]).toEqual(['synced', '']);
  });

  it.each([
    ['an empty list', ''],
    ['a list of comments', '# nothing\n\n'],
    ['a list with clauses only', 'APPEND:\nMERGE:\nEXECUTE:\n'],
  ])('is not %s, and nothing is done', async (_what, text) => {
    await world.define({ synclists: world.source('lists/empty', text) });
    expect(await again()).toEqual(['There were no syncfiles defined to process. File synchronization has completed.']);
    expect(await world.updateStatus('n1')).toBe('');
  });

  it('is not a list for other nodes', async () => {
    expect(await sync([`${world.source('small', 'some')} -> (n2) /opt/two`])).toEqual([
      'File synchronization has completed for nodes: "n2"',
      'n1: There were no syncfiles defined to process. File synchronization has completed.',
    ]);
    expect([await world.updateStatus('n1'), await world.updateStatus('n2')]).toEqual(['', 'synced']);
  });

  it('is not a wildcard that nothing matches, but it is told', async () => {
    const path = world.source('wild/a/x.conf', 'x');
    world.source('wild/b/y', 'y');
    world.source('wild/file', '');
    const lines = [
      `${world.files}/wild/*.none ${path} -> (n1) /opt/idle`,
      `${world.files}/wild/*/x.conf -> /opt/deep`,
      `${world.files}/wild/*/*.no -> /opt/deep`,
    ];
    const reply = await sync(lines);
    expect(reply.slice(0, 1)).toEqual(both);
    expect(reply.slice(1).map((line) => line.replace(/ \/\S*synclist,/, ''))).toEqual([
      `n1: line 1: no file matches ${world.files}/wild/*.none.`,
      `n1: line 3: no file matches ${world.files}/wild/*/*.no.`,
      `n2: line 3: no file matches ${world.files}/wild/*/*.no.`,
    ]);
    expect(world.lab.read(0, '/opt/idle/x.conf').toString()).toBe('x');
    expect(readdirSync(world.lab.path(1, '/opt/deep'))).toEqual(['x.conf']);
    expect((await fails([`${world.files}/nowhere/* -> /opt/x`]))[0]).toContain('There is no file');
  });

  it('with one node hides none of the others in the run and on the stream', async () => {
    const path = world.source('small', 'some');
    const list = world.source('lists/down', `${path} -> /opt/down`);
    await world.define(
      { synclists: list },
      {
        hosts: [
          { node: 'n1', ip: world.lab.addresses[0]! },
          { node: 'n2', ip: '127.127.9.9' },
        ],
      },
    );
    const reply = await world.server.call('POST', '/nodes/n1,n2/filesyncing', { body: {} });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toHaveLength(1);
    expect(reply.json.error[0]).toMatch(/^n2: File synchronization failed: its sshd at 127\.127\.9\.9:2727 refused/);
    expect(world.lab.read(0, '/opt/down').toString()).toBe('some');
    const run = await world.server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(run).toMatchObject({ ok: 1, failed: 1 });
    expect(run.results).toContainEqual({ node: 'n1', value: ['File synchronization has completed.'] });
    expect([await world.updateStatus('n1'), await world.updateStatus('n2')]).toEqual(['synced', 'failed']);
  });

  it('is a full disk, and then the old file stays', async () => {
    world.lab.write(0, '/opt/full', 'old');
    const path = world.source('huge', Buffer.alloc(66 << 20));
    const [error] = await fails([`${path} -> /opt/full`]);
    expect(error).toContain('the disk is full');
    expect(world.lab.read(0, '/opt/full').toString()).toBe('old');
    rmSync(path);
  });
});
