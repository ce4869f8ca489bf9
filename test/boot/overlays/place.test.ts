import { execFile } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { overlayScript } from '../../../src/core/home.ts';
import { openRamdisk } from '../ramdisk/in-ramdisk.ts';

/** A root with busybox alone, in which lines of a plan are placed; contents are by number. */
function openRoot(plan: readonly string[], contents: readonly string[]) {
  const { top, put } = openRamdisk();
  put({ 'over/place': readFileSync(overlayScript), 'over/plan': `${plan.join('\n')}\n`, 'dev/null': '' });
  put(Object.fromEntries(contents.map((content, number) => [`over/${number}`, content])));
  const place = async (how = 'boot'): Promise<string> => {
    const done = promisify(execFile)('chroot', [top, '/bin/sh', '/over/place', '/over', how], {
      env: { PATH: '/bin:/usr/sbin:/sbin:/usr/bin' },
    });
    return done.then(
      ({ stdout }) => stdout,
      ({ code, stdout }: { code: number; stdout: string }) => `${code}: ${stdout}`,
    );
  };
  return { top, put, place };
}

it('places files, links and directories with mode and owner, and says what was otherwise', async () => {
  const plan = [
    'directory 0 700 0:0 open /etc',
    'directory 1 750 3:4 open /etc/new',
    'file 2 4755 12:34 open /etc/new/a file',
    'link 3 777 0:0 open /etc/link',
    'file 4 644 0:0 open /etc/there',
  ];
  const { top, put, place } = openRoot(plan, ['', '', 'content', '../elsewhere', 'same']);
  put({ 'etc/there': 'same', 'etc/link': 'a file' });
  chmodSync(join(top, 'etc'), 0o755);
  chmodSync(join(top, 'etc/there'), 0o600);
  const changes = '/etc/new: missing\n/etc/new/a file: missing\n/etc/link: changed\n/etc/there: mode or owner\n';
  expect(await place('diff')).toBe(changes);
  expect(readdirSync(join(top, 'etc'))).not.toContain('new');
  expect(await place()).toBe(changes);
  expect(await place()).toBe('');
  // The directory was there before: it is the system's.
  expect(lstatSync(join(top, 'etc')).mode & 0o7777).toBe(0o755);
  expect(lstatSync(join(top, 'etc/new'))).toMatchObject({ uid: 3, gid: 4, mode: 0o40750 });
  expect(lstatSync(join(top, 'etc/new/a file'))).toMatchObject({ uid: 12, gid: 34, mode: 0o104755 });
  expect(readFileSync(join(top, 'etc/new/a file'), 'utf8')).toBe('content');
  expect(readlinkSync(join(top, 'etc/link'))).toBe('../elsewhere');
  expect(lstatSync(join(top, 'etc/there')).mode & 0o7777).toBe(0o644);
  expect(readdirSync(join(top, 'etc')).filter((name) => name.startsWith('.muster'))).toEqual([]);
});

it('shows no lines of files in directories that not everybody may enter', async () => {
  const plan = ['file 0 644 0:0 open /open/a', 'file 0 644 0:0 open /closed/below/a'];
  const { top, put, place } = openRoot(plan, ['new']);
  put({ 'bin/diff': '#!/bin/sh\necho lines', 'open/a': 'old', 'closed/below/a': 'old' });
  for (const name of ['', 'open', 'closed/below', 'open/a', 'closed/below/a']) chmodSync(join(top, name), 0o755);
  for (const name of ['open/a', 'closed/below/a']) chmodSync(join(top, name), 0o644);
  chmodSync(join(top, 'closed'), 0o700);
  expect(await place('diff')).toBe('/open/a: changed\nlines\n/closed/below/a: changed\n');
});

it('leaves what is of another kind as it is, places the rest, and fails', async () => {
  const { top, place } = openRoot(['file 0 644 0:0 open /etc/data', 'file 1 644 0:0 open /etc/other'], ['x', 'y']);
  mkdirSync(join(top, 'etc/data'), { recursive: true });
  expect(await place()).toBe('1: /etc/other: missing\n/etc/data: must be a file, and is a directory\n');
  expect(readFileSync(join(top, 'etc/other'), 'utf8')).toBe('y');
});

it('replaces a link to a directory itself, and goes not through it', async () => {
  const { top, put, place } = openRoot(
    ['link 0 777 0:0 open /etc/current', 'file 1 644 0:0 open /etc/data'],
    ['new', 'x'],
  );
  put({ 'etc/old/.keep': '', 'etc/current': '->old', 'etc/data': '->old' });
  expect(await place()).toBe('/etc/current: changed\n/etc/data: changed\n');
  expect(readlinkSync(join(top, 'etc/current'))).toBe('new');
  expect(readFileSync(join(top, 'etc/data'), 'utf8')).toBe('x');
  expect(readdirSync(join(top, 'etc/old'))).toEqual(['.keep']);
});

it('leaves a file as it was when it is killed in the middle, and the next time does the rest', async () => {
  const { top, put, place } = openRoot(['file 0 644 0:0 open /etc/data'], ['new']);
  const script = readFileSync(overlayScript, 'utf8');
  put({ 'etc/data': 'old', 'over/place': `sync() { kill -9 $$; }\n${script}` });
  await place();
  expect(readFileSync(join(top, 'etc/data'), 'utf8')).toBe('old');
  expect(readdirSync(join(top, 'etc'))).toContain('.muster-overlay.data');
  put({ 'over/place': script });
  expect(await place()).toBe('/etc/data: changed\n');
  expect(readFileSync(join(top, 'etc/data'), 'utf8')).toBe('new');
  expect(readdirSync(join(top, 'etc'))).not.toContain('.muster-overlay.data');
});

it.each([
  ['/home/anna/.ssh/keys', 'home/anna/.ssh'],
  // By a link of root's, too.
  ['/data/.ssh/keys', 'home/anna/.ssh'],
  ['/tmp/dir/keys', 'tmp/dir'],
])('on a running system nothing goes through what users can change: %s', async (path, link) => {
  const { top, put, place } = openRoot([`file 0 644 0:0 open ${path}`], ['keys of anna']);
  put({ 'home/anna/.keep': '', 'root/.ssh/.keep': '', 'tmp/.keep': '', data: '->/home/anna', [link]: '->/root/.ssh' });
  chmodSync(top, 0o755);
  chownSync(join(top, 'home/anna'), 1000, 1000);
  chmodSync(join(top, 'tmp'), 0o1777);
  expect(await place('send')).toBe(
    `1: ${path}: missing\n${path}: users may write to a directory above, so it is placed only at boot\n`,
  );
  expect(readdirSync(join(top, 'root/.ssh'))).toEqual(['.keep']);
  // Before there are users, it is placed.
  expect(await place()).toBe(`${path}: missing\n`);
});

it('goes through links and directories of root', async () => {
  const { top, put, place } = openRoot(['file 0 600 0:0 open /etc/local/a'], ['x']);
  put({ 'usr/etc/.keep': '', 'etc/local': '->../usr/etc' });
  for (const each of ['', 'usr', 'usr/etc', 'etc']) chmodSync(join(top, each), 0o755);
  expect(await place('send')).toBe('/etc/local/a: missing\n');
  expect(readFileSync(join(top, 'usr/etc/a'), 'utf8')).toBe('x');
});
