import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exclude, readExclusions } from '../../src/images/pack/exclusions.ts';
import { readManifest } from '../../src/images/manifest.ts';
import { work as pack } from '../../src/images/pack/pack.ts';
import { work as rollback } from '../../src/images/pack/rollback.ts';
import { work as tag } from '../../src/images/pack/tag.ts';
import { directWork } from '../harness/work.ts';
import { during, listing, packJob, refusal, smallImage, temporary } from './small-image.ts';

const unsquash = (file: string): string => {
  const into = join(temporary(), 'root');
  execFileSync('unsquashfs', ['-q', '-n', '-d', into, file], { stdio: 'ignore' });
  return into;
};

describe('packing an image', () => {
  it('puts root’s password and our key in, takes keys and the machine’s identity out, and leaves the tree alone', async () => {
    const directory = smallImage();
    const before = listing(join(directory, 'rootimg'));
    await during((task) => pack(packJob(directory), task));
    const root = unsquash(join(directory, 'rootimg.sfs'));
    expect(readFileSync(join(root, 'etc/shadow'), 'utf8')).toBe(
      'daemon:*:1:0:99999:7:::\nroot:$6$salt$hash:20455:0:99999:7:::\n',
    );
    expect(readFileSync(join(root, 'root/.ssh/authorized_keys'), 'utf8')).toBe('ssh-ed25519 AAAA muster\n');
    expect(existsSync(join(root, 'etc/ssh/ssh_host_ed25519_key'))).toBe(false);
    expect(readFileSync(join(root, 'etc/machine-id'), 'utf8')).toBe('');
    expect(readFileSync(join(root, 'opt/xcat/xcatinfo'), 'utf8')).toContain("IMAGENAME='img'");
    expect(listing(join(directory, 'rootimg'))).toEqual(before);
    expect(readdirSync(join(directory, '..'))).toEqual(['compute']);
  });

  it.each([
    ['squashfs', 'zstd'],
    ['squashfs', 'xz'],
    ['squashfs', 'gzip'],
    ['squashfs', 'lz4'],
    ['cpio', 'gzip'],
    ['cpio', 'xz'],
  ] as const)('makes the same bytes of the same tree: %s, %s', async (method, compress) => {
    const directory = smallImage();
    const sums: string[] = [];
    for (let time = 0; time < 2; time++) {
      const { parts } = await during((task) => pack({ ...packJob(directory), method, compress }, task));
      sums.push(parts[0]!.sha256);
    }
    expect(sums[1]).toBe(sums[0]);
    const manifest = await readManifest(directory);
    expect(manifest?.packs).toHaveLength(1);
  });

  it.each(['squashfs', 'cpio'] as const)('makes the same bytes of an overlay as of hard links: %s', async (method) => {
    const directory = smallImage();
    const job = { ...packJob(directory), method, exclusions: { out: ['./bin/other'], kept: [] } };
    const sums: string[] = [];
    for (const hasOwnMounts of [false, true]) {
      const task = directWork({ hasOwnMounts });
      onTestFinished(() => task.end());
      const { parts } = await pack({ ...job, compress: 'gzip' }, task);
      sums.push(parts[0]!.sha256);
      expect(task.programs.map(([name]) => name)).toContain(hasOwnMounts ? 'mount' : 'cp');
    }
    expect(sums[1]).toBe(sums[0]);
    expect(existsSync(join(directory, 'rootimg/bin/other'))).toBe(true);
  });

  it('writes a cpio that others read, hard links and modes included', async () => {
    const directory = smallImage();
    await during((task) => pack({ ...packJob(directory), method: 'cpio', compress: 'gzip' }, task));
    const into = temporary();
    const bytes = execFileSync('gzip', ['-dc', join(directory, 'rootimg.cpio.gz')], { maxBuffer: 1 << 26 });
    execFileSync('cpio', ['-idm', '--quiet'], { cwd: into, input: bytes });
    expect(execFileSync('stat', ['-c', '%a %h %i', 'bin/tool'], { cwd: into, encoding: 'utf8' })).toMatch(/^4755 2 /);
    expect(readFileSync(join(into, 'bin/other'), 'utf8')).toBe('tool');
    expect(readFileSync(join(into, 'bin/link'), 'utf8')).toBe('tool');
  });

  it('says in the manifest what was packed, by whom and from what', async () => {
    const directory = smallImage();
    const lists = [{ path: '/install/x.exlist', sha256: 'a'.repeat(64) }];
    await during((task) => pack({ ...packJob(directory), lists, by: 'alice' }, task));
    const manifest = (await readManifest(directory))!;
    const [made] = manifest.packs;
    expect(manifest.current).toBe(made!.id);
    expect(made).toMatchObject({ method: 'squashfs', compress: 'zstd', lists, packages: 1, made: { by: 'alice' } });
    expect(made!.parts.map(({ file }) => file)).toEqual(['rootimg.sfs', 'kernel', 'initrd-stateless.gz']);
    const sum = execFileSync('sha256sum', [join(directory, 'rootimg.sfs')], { encoding: 'utf8' });
    expect(sum.slice(0, 64)).toBe(made!.parts[0]!.sha256);
  });

  it('follows no link of the image out of it', async () => {
    const directory = smallImage();
    const victim = temporary();
    const tree = join(directory, 'rootimg');
    rmSync(join(tree, 'root'), { recursive: true });
    symlinkSync(victim, join(tree, 'root'));
    rmSync(join(tree, 'etc/shadow'));
    writeFileSync(join(victim, 'shadow'), 'mine');
    symlinkSync(join(victim, 'shadow'), join(tree, 'etc/shadow'));
    await during((task) => pack(packJob(directory), task));
    expect(readdirSync(victim)).toEqual(['shadow']);
    expect(readFileSync(join(victim, 'shadow'), 'utf8')).toBe('mine');
    const root = unsquash(join(directory, 'rootimg.sfs'));
    expect(readFileSync(join(root, victim, '.ssh/authorized_keys'), 'utf8')).toContain('muster');
  });

  it('packs a tree that was there before muster', async () => {
    const directory = smallImage();
    rmSync(join(directory, 'muster-image.json'));
    await during((task) => pack(packJob(directory), task));
    expect((await readManifest(directory))!.source.kind).toBe('found');
  });

  it('leaves packs alone that muster did not make', async () => {
    const directory = smallImage();
    rmSync(join(directory, 'muster-image.json'));
    mkdirSync(join(directory, 'packs/mine'), { recursive: true });
    const before = listing(directory);
    expect(await refusal(during((task) => pack(packJob(directory), task)))).toContain(
      'packs exists and muster did not',
    );
    expect(listing(directory)).toEqual(before);
  });

  it('names the image so that a shell reads just that, and takes keys out whatever they are', async () => {
    const image = "a'; touch /tmp/x; 'b";
    const directory = smallImage(temporary(), image);
    mkdirSync(join(directory, 'rootimg/etc/ssh/ssh_host_rsa_key/x'), { recursive: true });
    await during((task) => pack({ ...packJob(directory), image }, task));
    const root = unsquash(join(directory, 'rootimg.sfs'));
    const script = '. "$1"; printf %s "$IMAGENAME"';
    const shown = execFileSync('sh', ['-c', script, 'sh', join(root, 'opt/xcat/xcatinfo')], { encoding: 'utf8' });
    expect(shown).toBe(image);
    expect(readdirSync(join(root, 'etc/ssh'))).toEqual([]);
  });

  it('offers kernel and RAM disk to machines without an image, also beside another pack', async () => {
    const top = temporary();
    const jobs = ['one', 'two'].map((name) => ({ ...packJob(smallImage(top, name, name)), image: name }));
    await during((task) => Promise.all(jobs.map((job) => pack(job, task))));
    const place = join(top, 'ramdisk');
    expect(readFileSync(join(place, 'kernel'), 'utf8')).toBe('kernel 1');
    expect(readFileSync(join(place, 'initrd'), 'utf8')).toBe('initrd 1');
    expect(readdirSync(top).sort()).toEqual(['netboot', 'ramdisk']);
  });

  it('refuses an image without a tree, and another image’s directory', async () => {
    const directory = smallImage();
    expect(await refusal(during((task) => pack({ ...packJob(directory), image: 'b' }, task)))).toContain(
      'belongs to the image img',
    );
    rmSync(join(directory, 'rootimg'), { recursive: true });
    expect(await refusal(during((task) => pack(packJob(directory), task)))).toContain('build it first');
  });

  it('puts the files of synclists in', async () => {
    const directory = smallImage();
    const source = temporary();
    writeFileSync(join(source, 'motd'), 'hello\n');
    writeFileSync(join(source, 'group'), 'wheel:x:10:\n');
    const rule = (name: string, destination: string) => ({
      where: 'list, line 1',
      sources: [join(source, name)],
      intoDirectory: false,
      destination,
      nodes: undefined,
      roots: [{ path: join(source, name), real: join(source, name) }],
      idle: [],
    });
    const forOne = { ...rule('motd', '/etc/one'), nodes: [] };
    const sync = [
      {
        copies: [rule('motd', '/srv/new/motd'), forOne],
        appends: [rule('motd', '/etc/issue')],
        merges: [rule('group', '/etc/group')],
        scripts: [],
        scriptsAlways: [],
      },
    ];
    writeFileSync(join(directory, 'rootimg/etc/issue'), 'a\n');
    writeFileSync(join(directory, 'rootimg/etc/group'), 'root:x:0:\nwheel:x:1:a\n');
    const task = directWork();
    await during(() => pack({ ...packJob(directory), sync }, task), task);
    const root = unsquash(join(directory, 'rootimg.sfs'));
    expect(readFileSync(join(root, 'srv/new/motd'), 'utf8')).toBe('hello\n');
    expect(readFileSync(join(root, 'etc/issue'), 'utf8')).toBe('a\nhello\n');
    expect(readFileSync(join(root, 'etc/group'), 'utf8')).toBe('root:x:0:\nwheel:x:10:\n');
    expect(existsSync(join(root, 'etc/one'))).toBe(false);
    expect(task.lines).toContain('1 lines of the synclists are for some nodes only and are left out of the image.');
    expect(readFileSync(join(directory, 'rootimg/etc/issue'), 'utf8')).toBe('a\n');
  });

  it.each(['cp', 'mksquashfs'])('leaves what was there if it is cancelled while %s runs', async (program) => {
    const directory = smallImage();
    await during((task) => pack(packJob(directory), task));
    const before = listing(join(directory, '..'));
    writeFileSync(join(directory, 'rootimg/etc/new'), 'new');
    rmSync(join(directory, 'rootimg/etc/new'));
    const task = directWork({ onProgram: ([word]) => void (word === program && setImmediate(() => task.cancel())) });
    await expect(
      during(() => pack({ ...packJob(directory), method: 'squashfs', compress: 'xz' }, task), task),
    ).rejects.toThrow();
    expect(listing(join(directory, '..')).map(nameOf)).toEqual(before.map(nameOf));
    expect((await readManifest(directory))!.packs).toHaveLength(1);
  });

  it('tells of a full disk and leaves what was there', async () => {
    const top = mkdtempSync(join(tmpdir(), 'muster-full-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', top]);
    onTestFinished(() => {
      execFileSync('umount', [top]);
      rmSync(top, { recursive: true });
    });
    const directory = smallImage(top);
    await during((task) => pack(packJob(directory), task));
    const before = listing(top).map(nameOf);
    execFileSync('dd', ['if=/dev/urandom', `of=${join(directory, 'rootimg/bin/large')}`, 'bs=1k', 'count=550'], {
      stdio: 'ignore',
    });
    const sentence = await refusal(
      during((task) => pack({ ...packJob(directory), method: 'cpio', compress: 'gzip' }, task)),
    );
    expect(sentence).toContain('no space left on the disk');
    rmSync(join(directory, 'rootimg/bin/large'));
    expect(listing(top).map(nameOf)).toEqual(before);
  });

  const nameOf = (line: string): string => line.split(' ')[0]!;
});

describe('older packs', () => {
  const packOf = async (directory: string, text: string): Promise<string> => {
    writeFileSync(join(directory, 'rootimg/etc/version'), text);
    writeFileSync(join(directory, 'kernel.new'), `kernel ${text}`);
    rmSync(join(directory, 'kernel'));
    execFileSync('mv', [join(directory, 'kernel.new'), join(directory, 'kernel')]);
    return (await during((task) => pack({ ...packJob(directory), kept: 2 }, task))).id;
  };
  const { directory: _directory, pack: _pack, ...job } = { ...packJob(''), pack: '' };

  it('are kept as many as wanted and put back with their kernel', async () => {
    const directory = smallImage();
    const [one, two, three] = [
      await packOf(directory, '1'),
      await packOf(directory, '2'),
      await packOf(directory, '3'),
    ];
    expect(readdirSync(join(directory, 'packs')).sort()).toEqual([two, three].sort());
    await during((task) => rollback({ ...job, directory }, task));
    const manifest = (await readManifest(directory))!;
    expect(manifest.current).toBe(two);
    expect(readFileSync(join(directory, 'kernel'), 'utf8')).toBe('kernel 2');
    const root = unsquash(join(directory, 'rootimg.sfs'));
    expect(readFileSync(join(root, 'etc/version'), 'utf8')).toBe('2');
    const sentence = await refusal(during((task) => rollback({ ...job, directory }, task)));
    expect(sentence).toContain('has no older pack');
    await during((task) => rollback({ ...job, directory, pack: three }, task));
    expect((await readManifest(directory))!.current).toBe(three);
    expect(await refusal(during((task) => rollback({ ...job, directory, pack: one }, task)))).toContain(two);
  });

  it('with a tag stay, and are put back by it; a tag is on one pack at a time', async () => {
    const directory = smallImage();
    const one = await packOf(directory, '1');
    await during((task) => tag({ ...job, directory, tag: 'good', remove: false }, task));
    const [, , four] = [await packOf(directory, '2'), await packOf(directory, '3'), await packOf(directory, '4')];
    expect(readdirSync(join(directory, 'packs'))).toHaveLength(3);
    await during((task) => rollback({ ...job, directory, pack: 'good' }, task));
    expect((await readManifest(directory))!.current).toBe(one);
    await during((task) => tag({ ...job, directory, tag: 'good', pack: four, remove: false }, task));
    const tags = (await readManifest(directory))!.packs.flatMap((each) => (each.tags ? [[each.id, each.tags]] : []));
    expect(tags).toEqual([[four, ['good']]]);
    await during((task) => tag({ ...job, directory, tag: 'good', remove: true }, task));
    const again = during((task) => tag({ ...job, directory, tag: 'good', remove: true }, task));
    expect(await refusal(again)).toContain('has no pack good');
  });

  it('stay in use where nothing has changed, if that is asked for', async () => {
    const directory = smallImage();
    const synced = join(temporary(), 'motd');
    writeFileSync(synced, 'one');
    const rule = {
      where: 'l',
      destination: '/etc/motd',
      nodes: undefined,
      idle: [],
      roots: [{ path: synced, real: synced }],
    };
    const sync = [{ copies: [rule], appends: [], merges: [], scripts: [], scriptsAlways: [] }] as never;
    const packed = async (more: Partial<ReturnType<typeof packJob>> = {}): Promise<boolean> => {
      const task = directWork();
      const before = (await readManifest(directory))!.packs[0]?.made.when;
      await during(() => pack({ ...packJob(directory), sync, ifChanged: true, ...more }, task));
      const stays = task.lines.some((line) => line.includes('Nothing has changed since the pack'));
      expect((await readManifest(directory))!.packs[0]!.made.when === before).toBe(stays);
      return !stays;
    };
    expect([await packed(), await packed(), await packed({ compress: 'xz' })]).toEqual([true, false, true]);
    expect(await packed({ compress: 'xz' })).toBe(false);
    writeFileSync(synced, 'another');
    expect(await packed({ compress: 'xz' })).toBe(true);
  });

  it('without a kernel come with a warning', async () => {
    const directory = smallImage();
    const warned = async (): Promise<boolean> => {
      const task = directWork();
      await during(() => pack(packJob(directory), task));
      return task.lines.some((line) => line.startsWith('Warning: the image img has no kernel'));
    };
    expect(await warned()).toBe(false);
    rmSync(join(directory, 'kernel'));
    expect(await warned()).toBe(true);
  });

  it('that are damaged are not put back', async () => {
    const directory = smallImage();
    const [one] = [await packOf(directory, '1'), await packOf(directory, '2')];
    const file = join(directory, 'packs', one, 'rootimg.sfs');
    rmSync(file);
    writeFileSync(file, 'x');
    expect(await refusal(during((task) => rollback({ ...job, directory }, task)))).toContain('is damaged');
    expect(readFileSync(join(directory, 'kernel'), 'utf8')).toBe('kernel 2');
  });
});

describe('what stays out of a packed image', () => {
  it('is what the lists say, with what they take in again', async () => {
    const texts: Record<string, string> = {
      '/l/a': '# c\n./usr/share/doc*\n#INCLUDE:b#\n',
      '/l/b': '- ./usr/share/locale/*\n+./usr/share/locale/en*\n./bin/[a-l]*\n',
    };
    const exclusions = await readExclusions(['/l/a'], async (path) => texts[path]!);
    const tree = join(smallImage(), 'rootimg');
    exclude(tree, exclusions);
    const left = listing(join(tree, 'usr')).map((line) => line.split(' ')[0]);
    expect(left).toEqual(['share', 'share/locale', 'share/locale/en', 'share/locale/en/a.mo']);
    expect(readdirSync(join(tree, 'bin'))).toEqual(['other', 'tool']);
  });

  it('is not read for ever', async () => {
    const sentence = await refusal(readExclusions(['/l/a'], async () => '#INCLUDE:/l/a#\n'));
    expect(sentence).toContain('includes it again');
  });

  it('is the same for a tree with names that are no UTF-8', () => {
    const tree = temporary();
    mkdirSync(join(tree, 'a'));
    writeFileSync(Buffer.concat([Buffer.from(join(tree, 'a/')), Buffer.from([0xff, 0x62])]), '');
    expect(exclude(tree, { out: ['./a/*'], kept: [] })).toBe(1);
    expect(readdirSync(join(tree, 'a'))).toEqual([]);
  });
});
