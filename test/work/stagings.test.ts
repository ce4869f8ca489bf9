import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeStaging, removeStaging, stagingPath } from '../../src/work/stagings.ts';
import { scratchDirectory } from '../harness/store.ts';

let place: string;
beforeEach(() => {
  place = scratchDirectory();
});
afterEach(() => rmSync(place, { recursive: true }));

const run = '0b1ef7f5-6a6c-4c0e-9a51-000000000001';

test('a staging is removed with all that is in it, and links in it are not followed', async () => {
  const path = await stagingPath(place, run, 1);
  await makeStaging(path);
  mkdirSync(join(path, 'a/b'), { recursive: true });
  mkdirSync(join(place, 'outside'));
  writeFileSync(join(place, 'outside/file'), '');
  symlinkSync(join(place, 'outside'), join(path, 'a/link'));
  await removeStaging(path, run);
  expect(readdirSync(place)).toEqual(['outside']);
  expect(existsSync(join(place, 'outside/file'))).toBe(true);
  await removeStaging(path, run);
});

test('a staging that has become a link, or lies behind one, is left alone', async () => {
  const path = await stagingPath(place, run, 1);
  mkdirSync(join(place, 'outside'));
  symlinkSync(join(place, 'outside'), path);
  await removeStaging(path, run);
  mkdirSync(join(place, 'outside', `.muster-${run}-2`));
  await removeStaging(join(path, `.muster-${run}-2`), run);
  expect(readdirSync(join(place, 'outside'))).toEqual([`.muster-${run}-2`]);
});

test('no staging is made where another user could put a link in its place', async () => {
  const inner = join(place, 'a/b');
  mkdirSync(inner, { recursive: true });
  const refusal = (): Promise<string> =>
    stagingPath(inner, run, 1).then(
      () => '',
      ({ message }: Error) => message,
    );
  for (const directory of [inner, join(place, 'a'), place]) {
    chownSync(directory, 65534, 65534);
    expect(await refusal()).toBe(
      `${directory} belongs to the user with the id 65534, who could replace what muster makes there; run "chown root ${directory}" on the management node and try again.`,
    );
    chownSync(directory, 0, 0);
    for (const mode of [0o775, 0o757]) {
      chmodSync(directory, mode);
      expect(await refusal()).toBe(
        `${directory} can be written by other users, who could replace what muster makes there; run "chmod go-w ${directory}" on the management node and try again.`,
      );
    }
    chmodSync(directory, 0o1777);
    expect(await refusal()).toBe('');
    chmodSync(directory, 0o755);
  }
});

test.each([
  '/etc',
  '/',
  `/tmp/.muster-other-1`,
  `/tmp/.muster-${run}-1x`,
  `/tmp/.muster-${run}-`,
  `/tmp/x.muster-${run}-1`,
])('%s is no staging of the run and is refused', async (path) => {
  await expect(removeStaging(path, run)).rejects.toThrow('is not a temporary directory of run');
});
