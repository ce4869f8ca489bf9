import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { barredEntries, bounds, overlayTree } from '../../../src/boot/overlays/overlay-tree.ts';
import { scratchDirectory } from '../../harness/store.ts';

const read = (directory: string) => overlayTree([{ name: 'base', directory }]);
const refusal = (directory: string): Promise<string> =>
  read(directory).then(
    (entries) => `read: ${entries.length}`,
    (error: Error) => error.message,
  );

it.each<[string, (directory: string) => void, string]>([
  ['a pipe', (at) => execFileSync('mkfifo', [join(at, 'pipe')]), 'neither a file nor a directory nor a link'],
  ['a device', (at) => execFileSync('mknod', [join(at, 'zero'), 'c', '1', '5']), 'neither a file nor'],
  ['a file that is large', (at) => execFileSync('truncate', ['-s', `${bounds.bytes + 1}`, join(at, 'a')]), 'more than'],
  ['a link to a strange name', (at) => symlinkSync('a\nb', join(at, 'a')), 'control character'],
  ['a name with a line break', (at) => writeFileSync(join(at, 'a\nb'), ''), 'control character'],
  [
    'what is made at each boot',
    (at) => mkdirSync(join(at, 'var/run/x'), { recursive: true }),
    'made again at each boot',
  ],
  [
    'a template with a blank at the end of its name',
    (at) => writeFileSync(join(at, 'a .tmpl'), ''),
    'with a blank before',
  ],
  ['the tree of an image', (at) => mkdirSync(join(at, '.private')), 'the tree of an image'],
])('%s cannot be part of an overlay', async (_, make, reason) => {
  const directory = scratchDirectory();
  make(directory);
  expect(await refusal(directory)).toContain(reason);
});

it.each<[string, (directory: string, above: string) => void]>([
  ['everybody may write to', (directory) => chmodSync(directory, 0o777)],
  ['another user owns', (directory) => chownSync(directory, 65534, 65534)],
  ['another user can replace', (_, above) => chmodSync(above, 0o777)],
])('nothing in an overlay whose own directory %s is for root alone', async (_, change) => {
  const above = scratchDirectory();
  const directory = join(above, 'base');
  mkdirSync(directory);
  writeFileSync(join(directory, 'key.tmpl'), '');
  expect((await read(directory)).map(({ isRoots }) => isRoots)).toEqual([true]);
  change(directory, above);
  expect((await read(directory)).map(({ isRoots }) => isRoots)).toEqual([false]);
});

it('what others than root can change is known, also by a directory above it', async () => {
  const directory = scratchDirectory();
  mkdirSync(join(directory, 'theirs/below'), { recursive: true });
  for (const name of ['own', 'shared', 'theirs/below/file']) writeFileSync(join(directory, name), 'x', { mode: 0o644 });
  chmodSync(join(directory, 'shared'), 0o664);
  chownSync(join(directory, 'theirs'), 1000, 1000);
  const owned = (await read(directory)).filter(({ isRoots }) => isRoots).map(({ path }) => path);
  expect(owned).toEqual(['/own']);
});

it('links are taken as links, wherever they lead', async () => {
  const directory = scratchDirectory();
  symlinkSync('/etc/shadow', join(directory, 'a'));
  const [entry] = await read(directory);
  expect([entry!.kind, entry!.content.toString()]).toEqual(['link', '/etc/shadow']);
});

it('a file that not everybody on the node can read, by its mode or that of a directory, is not for everybody', async () => {
  const directory = scratchDirectory();
  mkdirSync(join(directory, 'closed/below'), { recursive: true });
  for (const name of ['open', 'key', 'closed/below/file']) writeFileSync(join(directory, name), 'x', { mode: 0o644 });
  chmodSync(join(directory, 'closed'), 0o700);
  chmodSync(join(directory, 'key'), 0o600);
  const barred = [...barredEntries(await read(directory))].map(({ path }) => path);
  expect(barred).toEqual(['/closed', '/closed/below', '/closed/below/file', '/key']);
});
