import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const checkout = join(import.meta.dirname, '../..');
let copy: string;

/** Inside of ours, so that it finds the same packages. */
beforeAll(() => {
  mkdirSync(join(checkout, '.cache'), { recursive: true });
  copy = mkdtempSync(join(checkout, '.cache/bundle-test-'));
  for (const each of ['src/cli', 'src/core', 'scripts/client-bundle.ts'])
    cpSync(join(checkout, each), join(copy, each), { recursive: true });
  bundle();
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const bundle = () => execFileSync(process.execPath, [join(copy, 'scripts/client-bundle.ts')]);

function muster(...words: string[]): string {
  const env = { PATH: process.env['PATH']!, HOME: copy };
  const { stdout, stderr } = spawnSync(process.execPath, [join(copy, '.cache/client/main.cjs'), ...words], {
    env,
    encoding: 'utf8',
  });
  return stdout + stderr;
}

/** Changes a text of a source; `later`: so that its time shows it. */
function change(file: string, from: string, to: string, later: boolean): void {
  const path = join(copy, file);
  const { atime, mtime, mtimeMs } = statSync(path);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
  if (later) utimesSync(path, atime, new Date(mtimeMs + 5_000));
  else utimesSync(path, atime, mtime);
}

it.each([
  ['what all commands share', 'src/cli/main.ts', 'There is no command', ['nosuch']],
  ['the command that is called', 'src/cli/commands/rmvm.ts', 'Usage: rmvm', ['rmvm', '-h']],
])('the bundle answers only while it is made from the sources as they are: %s', (_, file, text, words) => {
  // A time that a file can be given exactly.
  utimesSync(join(copy, file), 1_700_000_000, 1_700_000_000);
  bundle();
  expect(muster(...words)).toContain(text);
  change(file, text, 'ANOTHER TEXT', false);
  expect(muster(...words)).toContain(text);
  change(file, 'ANOTHER TEXT', 'CHANGED TEXT', true);
  expect(muster(...words)).toContain('CHANGED TEXT');
  bundle();
  expect(muster(...words)).toContain('CHANGED TEXT');
  change(file, 'CHANGED TEXT', text, true);
});

it('a bundle leaves the pieces of the one before to those who run it, and takes older ones away', () => {
  const directory = join(copy, '.cache/client');
  bundle();
  const pieces = readdirSync(directory).filter((name) => name.startsWith('rmvm-'));
  writeFileSync(join(directory, 'rmvm-old.cjs'), '');
  utimesSync(join(directory, 'rmvm-old.cjs'), 1, 1);
  change('src/cli/commands/rmvm.ts', 'Usage: rmvm', 'Usage of rmvm', true);
  bundle();
  const now = readdirSync(directory).filter((name) => name.startsWith('rmvm-'));
  expect(now).toEqual(expect.arrayContaining(pieces));
  expect(now.length).toBeGreaterThan(pieces.length);
  expect(now).not.toContain('rmvm-old.cjs');
});
