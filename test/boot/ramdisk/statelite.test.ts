import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openRamdisk } from './in-ramdisk.ts';

/** What the root has at these paths when its files were placed by lines of a plan, in mounts of its own. */
async function placed(
  lines: readonly string[],
  files: Readonly<Record<string, string>>,
  look: string,
): Promise<string> {
  const { top, put } = openRamdisk();
  put({ ...files, '.statelite/plan': `${lines.join('\n')}\n` });
  const script = `for part in /lib/muster/*; do . "$part"; done\n(place_files); ${look}`;
  const { stdout } = await promisify(execFile)(
    'unshare',
    ['-m', 'sh', '-c', 'mount --bind "$1" "$1" && exec chroot "$1" /bin/sh -c "$2"', 'sh', top, script],
    { env: { PATH: '/bin:/usr/sbin:/sbin:/usr/bin' } },
  );
  return stdout.trim();
}

const state = 'state nfs 10.0.0.1 /state - n1';
const kept = '.statelite/persistent/n1';

it.each<[string, string[], Record<string, string>, string, string]>([
  [
    'a file in memory is the image’s',
    ['file bind memory /etc/a'],
    { 'etc/a': 'image' },
    'cat /etc/a; cat /.statelite/tmpfs/etc/a',
    'imageimage',
  ],
  [
    'or that of the first tree that has it',
    ['file bind memory /etc/a'],
    { 'etc/a': 'image', '.statelite/tree/0/b': '', '.statelite/tree/1/etc/a': 'one', '.statelite/tree/2/etc/a': 'two' },
    'cat /etc/a; echo -n new > /etc/a; cat /.statelite/tree/1/etc/a',
    'oneone',
  ],
  [
    'or empty',
    ['file bind memory /new/file', 'directory bind memory /new/directory'],
    {},
    'ls -F /new',
    'directory/\nfile',
  ],
  ['a name may have any sign', ['file bind memory /etc/a%20%24%28b%29%27'], {}, 'ls /etc | grep a', "a $(b)'"],
  [
    'a persistent file begins as the image’s',
    [state, 'file bind state /etc/a'],
    { 'etc/a': 'image', [`${kept}/b`]: '' },
    `cat /${kept}/etc/a; echo -n new > /etc/a; cat /${kept}/etc/a`,
    'imagenew',
  ],
  [
    'and is what it was',
    [state, 'file bind state /etc/a'],
    { 'etc/a': 'image', [`${kept}/etc/a`]: 'kept' },
    'cat /etc/a',
    'kept',
  ],
  [
    'a directory may be persistent with one of its files in memory',
    [state, 'directory bind state /data', 'file bind memory /data/b'],
    { 'data/a': 'a', 'data/b': 'b', [`${kept}/c`]: '' },
    `echo -n new > /data/b; cat /data/a /${kept}/data/b`,
    'ab',
  ],
  [
    'what is ro cannot be written',
    ['file bind tree /etc/a'],
    { 'etc/a': 'image', '.statelite/tree/0/etc/a': 'tree' },
    'cat /etc/a; echo x 2> /dev/null > /etc/a || cat /etc/a',
    'treetree',
  ],
  [
    'files are joined, the image’s first',
    ['file bind joined /etc/a'],
    { 'etc/a': 'image ', '.statelite/tree/0/etc/a': 'one ', '.statelite/tree/1/etc/a': 'two' },
    'cat /etc/a',
    'image one two',
  ],
  [
    'a link leads into memory',
    ['file link memory /etc/a'],
    { 'etc/a': 'x' },
    'readlink /etc/a; cat /etc/a',
    '/.statelite/tmpfs/etc/a\nx',
  ],
  [
    'or into the state',
    [state, 'directory link state /data'],
    { 'data/a': 'x', [`${kept}/b`]: '' },
    'readlink /data; cat /data/a',
    `/${kept}/data\nx`,
  ],
  [
    'or to a tree',
    ['file link tree /etc/a'],
    { '.statelite/tree/0/etc/a': 'x' },
    'readlink /etc/a',
    '/.statelite/tree/0/etc/a',
  ],
  [
    'a link of the image leads where it does in the root, and is replaced',
    ['file bind memory /etc/a', 'file bind memory /var/run/b'],
    { 'etc/a': '->/etc/real', 'etc/real': 'real', 'var/run': '->/run', 'run/b': 'b' },
    'echo -n new > /etc/a; cat /etc/real; cat /.statelite/tmpfs/var/run/b',
    'realb',
  ],
  [
    'what is ro and nowhere stops the boot',
    ['file bind tree /etc/a'],
    { 'etc/a': 'image' },
    'true',
    '/etc/a is ro and in none of the directories of litetree.',
  ],
  [
    'as does a file where a directory is',
    ['file bind memory /etc/a'],
    { 'etc/a/b': '' },
    'true',
    '/etc/a is a directory, and /etc/a is to be a file (it does not end with a slash).',
  ],
])('%s', async (_name, lines, files, look, shown) => {
  expect(await placed(lines, files, look)).toBe(shown);
});

it('an image without the programs that are needed is named as what is missing', async () => {
  const { put, run } = openRamdisk();
  // The image has a shell, and neither kmod nor e2fsprogs.
  put({ 'newroot/.keep': '' });
  const helpers = `in_image() { shift; case "$*" in *modprobe* | *mkfs*) return 1 ;; esac; }
stop() { echo "$*"; exit; }
is_blank() { true; }
findfs() { echo /dev/vda; }
mount() { return 1; }
sleep() { true; }
target=/newroot options=`;
  const nfs = await run(`${helpers}\nload_file_systems\nopen_nfs 10.0.0.1 /state`);
  expect(nfs).toContain('10.0.0.1:/state cannot be mounted:');
  expect(nfs).toContain('The image has no modprobe, so drivers of file systems cannot be loaded: add the package kmod');
  const disk = await run(`${helpers}\nload_file_systems\nopen_disk LABEL=state`);
  expect(disk).toContain('LABEL=state (statemnt) is empty, and the image has no mkfs.ext4');
});
