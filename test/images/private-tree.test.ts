import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hostArchitecture } from '../../src/objects/distributions.ts';
import { work as run } from '../../src/images/build/run.ts';
import type { PullJob } from '../../src/images/containers/pull-job.ts';
import { work as pull } from '../../src/images/containers/pull.ts';
import { manifestFile } from '../../src/images/manifest.ts';
import { work as pack } from '../../src/images/pack/pack.ts';
import { directWork } from '../harness/work.ts';
import { writeLayout } from '../lab/oci/layout.ts';
import { directory as directoryEntry, file } from '../lab/oci/tar.ts';
import { inMemory } from './steps.ts';
import { during, listing, packJob, refusal, smallImage, temporary } from './small-image.ts';

/** Below it everything can be reached by everybody unless its own mode says otherwise. */
function openTop(top = temporary()): string {
  chmodSync(top, 0o755);
  return top;
}

/** What a user without rights gets of a command that is started in `top`. setpriv keeps its rights until it has started env. */
const asNobody = (top: string, ...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(
    'setpriv',
    ['--reuid=65534', '--regid=65534', '--clear-groups', '--', 'env', ...words],
    { cwd: top, encoding: 'utf8' },
  );
  return { status, said: (stdout + stderr).trim() };
};

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

/** How the tree of an image can be reached. */
function accessTo(top: string, directory: string) {
  const [tree, above] = [join(directory, 'rootimg'), join(directory, '.private')];
  const { uid } = lstatSync(above);
  const listed = asNobody(top, 'ls', tree.slice(top.length + 1)).said;
  return {
    link: readlinkSync(tree),
    above: `${modeOf(above)} ${uid}`,
    isThere: statSync(tree).isDirectory(),
    isListed: !listed.includes('Permission denied'),
  };
}
const rootOnly = { link: '.private/rootimg', above: '700 0', isThere: true, isListed: false };

const container = (top: string, words = 'one'): PullJob => {
  rmSync(join(top, 'container'), { recursive: true, force: true });
  writeLayout(join(top, 'container'), [
    [
      { ...directoryEntry('./'), mode: 0o751 },
      file('etc/os-release', 'ID=debian\nVERSION_ID=12\n'),
      file('etc/words', words),
      { name: 'bin/id', data: readFileSync('/usr/bin/id'), mode: 0o4755 },
      { name: 'bin/null', type: '3', major: 1, minor: 3, mode: 0o666 },
    ],
  ]);
  return {
    image: 'web',
    by: 'root',
    from: { kind: 'file', path: join(top, 'container') },
    osarch: hostArchitecture(),
    profile: 'web',
    installDirectory: top,
    anew: false,
    blobs: join(top, 'blobs'),
    directories: [],
    limits: { bytes: 64 << 20, entries: 10_000 },
  };
};

describe('the tree of an image', () => {
  it.each(['0000', '0022', '0077'])(
    'of a container is closed to others with umask %s, and its own root is not',
    async (umask) => {
      const before = process.umask(Number.parseInt(umask, 8));
      onTestFinished(() => void process.umask(before));
      const top = openTop();
      const directory = join(top, 'netboot/debian12', hostArchitecture(), 'web');
      const job = container(top);
      await during((task) => pull(job, task));
      expect(accessTo(top, directory)).toEqual(rootOnly);
      const tree = directory.slice(top.length + 1);
      for (const words of [
        [`${tree}/rootimg/bin/id`, '-u'],
        ['cat', `${tree}/.private/rootimg/bin/null`],
      ])
        expect(asNobody(top, ...words).said).toContain('Permission denied');
      expect(modeOf(join(directory, '.private/rootimg'))).toBe('751');
      expect(modeOf(join(directory, 'rootimg/bin/id'))).toBe('4755');
      await during((task) => pull({ ...container(top, 'two'), directory }, task));
      expect(accessTo(top, directory)).toEqual(rootOnly);
      expect(readFileSync(join(directory, 'rootimg/etc/words'), 'utf8')).toBe('two');
    },
  );

  it('is closed on another file system too', async () => {
    const top = openTop(inMemory(64));
    await during((task) => pull(container(top), task));
    expect(accessTo(top, join(top, 'netboot/debian12', hostArchitecture(), 'web'))).toEqual(rootOnly);
  });

  it('that an older muster left open is closed by the next work on it, and is as it was', async () => {
    const top = openTop();
    const directory = smallImage(top);
    const tree = join(directory, 'rootimg');
    copyFileSync('/bin/busybox', join(tree, 'bin/busybox'));
    chmodSync(tree, 0o711);
    copyFileSync('/usr/bin/id', join(tree, 'bin/id'));
    chmodSync(join(tree, 'bin/id'), 0o4755);
    expect(asNobody(top, join(tree.slice(top.length + 1), 'bin/id'), '-u')).toEqual({ status: 0, said: '0' });
    const [inode, before] = [lstatSync(tree).ino, listing(tree)];
    const task = directWork();
    await during(() => pack(packJob(directory), task), task);
    expect(accessTo(top, directory)).toEqual(rootOnly);
    expect(task.lines.join('\n')).toContain(`${tree} lies in ${join(directory, '.private')} now`);
    expect([statSync(tree).ino, listing(tree), modeOf(`${tree}/.`)]).toEqual([inode, before, '711']);
    const packed = execFileSync('unsquashfs', ['-lls', '-max-depth', '0', join(directory, 'rootimg.sfs')]);
    expect(packed.toString()).toContain('drwx--x--x');
    expect(asNobody(top, 'head', '-c', '4', join(directory.slice(top.length + 1), 'rootimg.sfs')).said).toBe('hsqs');
    const command = ['/bin/busybox', 'touch', '/etc/mended'];
    const job = { ...packJob(directory), osarch: hostArchitecture(), command, network: false };
    await during((each) => run(job, each));
    expect(accessTo(top, directory)).toEqual(rootOnly);
    expect([existsSync(join(tree, 'etc/mended')), modeOf(`${tree}/.`)]).toEqual([true, '711']);
  });

  it('leads to nothing of this machine when a program in it replaces a directory by a link', async () => {
    const directory = smallImage();
    copyFileSync('/bin/busybox', join(directory, 'rootimg/bin/busybox'));
    const victim = temporary();
    writeFileSync(join(victim, 'resolv.conf'), 'mine');
    const command = [
      '/bin/busybox',
      'sh',
      '-c',
      `busybox=/bin/busybox; $busybox mv /etc /moved; $busybox ln -s ${victim} /etc`,
    ];
    const job = { ...packJob(directory), osarch: hostArchitecture(), command, network: true };
    await during((task) => run(job, task));
    expect(readlinkSync(join(directory, 'rootimg/etc'))).toBe(victim);
    expect(readFileSync(join(victim, 'resolv.conf'), 'utf8')).toBe('mine');
  });

  it('that an administrator made is closed when it is packed', async () => {
    const top = openTop();
    const directory = smallImage(top);
    rmSync(join(directory, manifestFile));
    await during((task) => pack(packJob(directory), task));
    expect(accessTo(top, directory)).toEqual(rootOnly);
  });

  it('stays closed whatever was done to its directory', async () => {
    const top = openTop();
    const directory = smallImage(top);
    await during((task) => pack(packJob(directory), task));
    chmodSync(join(directory, '.private'), 0o777);
    await during((task) => pack(packJob(directory), task));
    expect(accessTo(top, directory)).toEqual(rootOnly);
  });

  it('is not worked on where another user could put a link in its place', async () => {
    const directory = smallImage();
    const before = listing(directory);
    chownSync(directory, 65534, 65534);
    expect(await refusal(during((task) => pack(packJob(directory), task)))).toContain(
      `${directory} belongs to the user with the id 65534`,
    );
    expect(listing(directory)).toEqual(before);
  });

  it('is copied to where only root can enter before a program runs in it', async () => {
    const directory = smallImage();
    copyFileSync('/bin/busybox', join(directory, 'rootimg/bin/busybox'));
    const job = {
      ...packJob(directory),
      osarch: hostArchitecture(),
      command: ['/bin/busybox', 'true'],
      network: false,
    };
    const task = directWork();
    await during(() => run(job, task), task);
    const copies = task.programs.filter(([program]) => program === 'cp').map((words) => words.at(-1));
    expect(copies).toEqual([expect.stringMatching(/\.private\/rootimg$/)]);
  });

  it('is moved by the next run if one was killed before', async () => {
    const top = openTop();
    const directory = smallImage(top);
    mkdirSync(join(directory, '.private'), { mode: 0o755 });
    symlinkSync('.private/rootimg', join(directory, '.private/rootimg'));
    await during((task) => pack(packJob(directory), task));
    expect(accessTo(top, directory)).toEqual(rootOnly);
    expect(existsSync(join(directory, 'rootimg/bin/tool'))).toBe(true);
  });

  it('that cannot be moved is told of and left as it is', async () => {
    const directory = smallImage();
    const tree = join(directory, 'rootimg');
    const packing = (): Promise<string> => refusal(during((task) => pack(packJob(directory), task)));
    execFileSync('mount', ['--bind', tree, tree]);
    const before = listing(tree);
    try {
      expect(await packing()).toMatch(/every user of this machine can run what is in it: .* If it is a mount point/);
      expect(listing(tree)).toEqual(before);
    } finally {
      execFileSync('umount', [tree]);
    }
    await during((task) => pack(packJob(directory), task));
    rmSync(tree);
    mkdirSync(tree);
    expect(await packing()).toContain('There are two trees');
    rmSync(tree, { recursive: true });
    symlinkSync('/etc', tree);
    expect(await packing()).toContain("neither a directory nor muster's own link");
    rmSync(tree);
    expect(await packing()).toContain('has no tree');
    renameSync(join(directory, '.private'), join(directory, '.elsewhere'));
    symlinkSync('.elsewhere', join(directory, '.private'));
    symlinkSync('.private/rootimg', tree);
    expect(await packing()).toContain('must be a directory');
  });
});
