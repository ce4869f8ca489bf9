import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { type RemoteWorld, startWorld } from './world.ts';

/** What nodes unpack with; the last has nothing for it. */
const programs = { t0: 'GNU tar', t1: 'busybox', t2: 'bsdtar', t3: 'nothing' } as const;
const [small, dying, slow] = [4, 5, 6];
let world: RemoteWorld;
beforeAll(async () => {
  world = await startWorld(
    { count: 7, prefix: '127.126', port: 2611, perProcess: 1, disks: { [small]: 2_000_000 } },
    'connectSeconds = 60',
  );
  const wrapped = (program: string): string => `#!/bin/sh\n: > "$HOME/unpacked"\nexec ${program} "$@"\n`;
  tools(0, { tar: wrapped('/usr/bin/tar') });
  const busybox = (applet: string): string => `#!/bin/sh\nexec /bin/busybox ${applet} "$@"\n`;
  tools(1, {
    tar: wrapped('/bin/busybox tar'),
    mv: busybox('mv'),
    rm: busybox('rm'),
    chmod: busybox('chmod'),
  });
  tools(2, { tar: wrapped('/usr/bin/bsdtar') });
  tools(3, {});
});
afterAll(() => world.stop());

const home = (index: number): string => world.lab.home(index);

/** A node gets these programs, and of this machine's only a few. */
function tools(index: number, own: Readonly<Record<string, string>>): void {
  const directory = join(home(index), '.bin');
  mkdirSync(directory);
  for (const name of ['sh', 'mv', 'rm', 'chmod'])
    if (!(name in own)) symlinkSync(`/bin/${name}`, join(directory, name));
  for (const [name, text] of Object.entries(own)) writeFileSync(join(directory, name), text, { mode: 0o755 });
  writeFileSync(join(home(index), '.bashrc'), 'cd\nPATH=$HOME/.bin\n');
}

const copy = (range: string, src: string, target: string) =>
  world.server.call('POST', `/nodes/${range}/nodecopy`, { body: { src: [src], target } });

function put(path: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode });
  chmodSync(path, mode);
  utimesSync(path, 1_500_000_000, 1_500_000_000);
}

const hostile = [
  "it's",
  '$(touch pwned)',
  'a\nb',
  '`x`',
  '-rf',
  ' two  blanks ',
  '*',
  '\\',
  '"',
  '\u00fcn\u00ef',
  ';&|',
  '#',
  '~',
];
const long = 'x'.repeat(255);
const deep = Array.from({ length: 12 }, (_, index) => `directory-number-${index}`).join('/');

/** More files than are sent one by one. */
function makeTree(name: string, content: string): string {
  const root = join(world.sources, name);
  for (const each of [...hostile, long, `${deep}/deep`, ...Array.from({ length: 20 }, (_, index) => `many/${index}`)])
    put(join(root, each), `${content} ${each}`);
  put(join(root, 'mode'), content, 0o4751);
  put(join(root, 'empty'), '');
  put(join(root, 'large'), Buffer.alloc(700_001, content));
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x27, 0xfe])]), `${content} bytes`);
  mkdirSync(join(root, "odd 'directory'/none"), { recursive: true });
  put(join(root, "odd 'directory'/-f"), content);
  rmSync(join(root, 'link'), { force: true });
  symlinkSync(`../${'far/'.repeat(40)}${content}`, join(root, 'link'));
  rmSync(join(root, 'outside'), { force: true });
  symlinkSync('/etc/shadow', join(root, 'outside'));
  chmodSync(join(root, 'many'), 0o2555);
  utimesSync(join(root, 'many'), 1_400_000_000, 1_400_000_000);
  utimesSync(root, 1_300_000_000, 1_300_000_000);
  return root;
}

/** All of a tree, as text. */
function listed(root: string): string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'latin1' });
  const paths = [
    Buffer.from(root),
    ...names.map((name) => Buffer.from(`${Buffer.from(root).toString('latin1')}/${name}`, 'latin1')),
  ];
  return paths
    .map((path) => {
      const { mode, mtimeMs, size } = lstatSync(path);
      const name = path.toString('latin1').slice(root.length);
      if ((mode & 0o170000) === 0o120000) return `${name} -> ${readlinkSync(path)}`;
      const what =
        (mode & 0o170000) === 0o040000 ? 'directory' : `${size} ${readFileSync(path).toString('hex', 0, 200)}`;
      return `${name} ${(mode & 0o7777).toString(8)} ${Math.floor(mtimeMs / 1_000)} ${what}`;
    })
    .sort();
}

const leftIn = (index: number): string[] =>
  readdirSync(home(index), { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.muster'));

describe('a tree', () => {
  it('arrives the same whatever unpacks it, also over what is there', async () => {
    for (const content of ['first', 'other']) {
      const source = makeTree('tree', content);
      const reply = await copy('t0-t3', source, './-in to/');
      expect([reply.status, reply.text]).toEqual([201, '']);
      for (const index of [0, 1, 2, 3]) {
        const arrived = join(home(index), '-in to/tree');
        expect(listed(arrived), programs[`t${index}` as 't0']).toEqual(listed(source));
        expect(statSync(join(arrived, 'mode')).uid).toBe(process.getuid!());
        expect(leftIn(index)).toEqual([]);
        expect(existsSync(join(home(index), 'unpacked'))).toBe(index !== 3);
        rmSync(join(home(index), 'unpacked'), { force: true });
        expect(existsSync(join(home(index), 'pwned'))).toBe(false);
      }
    }
  });

  it('replaces links, not what they lead to, but goes through those to directories', async () => {
    const source = makeTree('linked', 'new');
    for (const index of [0, 1, 3]) {
      const there = join(home(index), 'linked');
      put(join(home(index), 'precious'), 'precious');
      mkdirSync(join(home(index), 'elsewhere'));
      mkdirSync(there);
      symlinkSync('../precious', join(there, 'mode'));
      symlinkSync('../elsewhere', join(there, 'many'));
    }
    const reply = await copy('t0,t1,t3', source, '.');
    expect([reply.status, reply.text]).toEqual([201, '']);
    for (const index of [0, 1, 3]) {
      expect(readFileSync(join(home(index), 'precious'), 'utf8')).toBe('precious');
      expect(readFileSync(join(home(index), 'linked/mode'), 'utf8')).toBe('new');
      expect(readdirSync(join(home(index), 'elsewhere'))).toHaveLength(20);
      expect(leftIn(index)).toEqual([]);
    }
  });

  it.each([
    ['a file that has to be a directory', 'many', 'file', /many must be a directory on the node and is not one/],
    ['a directory that has to be a file', 'mode', 'directory', /mode/],
  ])('does not take the place of %s', async (_name, name, kind, sentence) => {
    const source = makeTree('blocked', 'new');
    for (const index of [0, 1, 3]) {
      const there = join(home(index), `blocked-${kind}/blocked`, name);
      if (kind === 'file') put(there, 'old');
      else put(join(there, 'inside'), 'old');
    }
    const reply = await copy('t0,t1,t3', source, `blocked-${kind}/`);
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toHaveLength(3);
    for (const error of reply.json.error) expect(error).toMatch(sentence);
    for (const index of [0, 1, 3]) {
      const there = join(home(index), `blocked-${kind}/blocked`, name, kind === 'file' ? '' : 'inside');
      expect(readFileSync(there.replace(/\/$/, ''), 'utf8')).toBe('old');
      expect(leftIn(index)).toEqual([]);
    }
  });

  it('leaves a full disk as it was', async () => {
    const source = join(world.sources, 'full');
    for (let index = 0; index < 40; index++) put(join(source, String(index)), Buffer.alloc(100_000, 1));
    const node = `t${small}`;
    await world.shell(node, 'mkdir full; echo old > full/0');
    const reply = await copy(`t0,${node}`, source, '.');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual([expect.stringMatching(/^t4: .*the disk is full; they have 4000000 bytes/)]);
    const left = await world.shell(node, 'cat full/0; ls -A full; find . | grep muster || true');
    expect(left.json).toEqual({ [node]: ['old', '0'] });
    expect(readdirSync(join(home(0), 'full'))).toHaveLength(40);
  });

  /** A copy of a tree that takes long, begun over one that is there. */
  async function beginLong(index: number, name: string) {
    const source = join(world.sources, name);
    for (let each = 0; each < 20; each++) put(join(source, String(each)), 'new');
    writeFileSync(join(source, '9-large'), '');
    truncateSync(join(source, '9-large'), 5_000_000_000);
    put(join(home(index), name, '0'), 'old');
    const begun = await world.begin(`/nodes/t${index}/nodecopy`, { src: [source], target: '.' });
    let over = false;
    void begun.lines.finally(() => (over = true));
    await expect.poll(() => over || leftIn(index).length > 20, { timeout: 120_000, interval: 5 }).toBe(true);
    return begun;
  }

  const old = (index: number, name: string): void => {
    expect(readdirSync(join(home(index), name)).filter((each) => !each.includes('.muster'))).toEqual(['0']);
    expect(readFileSync(join(home(index), name, '0'), 'utf8')).toBe('old');
  };

  it('changes nothing on a node that dies in the middle', async () => {
    const begun = await beginLong(dying, 'dying');
    world.lab.sever(dying);
    const [line] = await begun.lines;
    expect(line).toMatchObject({ node: `t${dying}`, error: expect.stringMatching(/lost|ended/) });
    old(dying, 'dying');
  });

  it('tidies up when its run is cancelled', async () => {
    const begun = await beginLong(slow, 'cancelled');
    await world.server.ok('DELETE', `/runs/${begun.run}`);
    expect(await begun.lines).toContainEqual({ node: `t${slow}`, error: 'The run was cancelled.' });
    await expect.poll(() => leftIn(slow), { timeout: 60_000 }).toEqual([]);
    old(slow, 'cancelled');
  });
});
