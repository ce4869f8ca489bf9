import { lstatSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasUserNamespaces, inUserNamespace } from '../../src/images/tree/in-namespaces.ts';
import { directWork } from '../harness/work.ts';
import { during, refusal, temporary } from './small-image.ts';

test('a program in a user namespace gives files to anybody, and has no rights over devices', async () => {
  const scratch = temporary();
  const task = directWork();
  const script =
    'cd "$1"; id -u; touch mine his; chown 1234:5678 his; mknod zero c 1 5 2> /dev/null || echo no device; ls -d /proc/[0-9]* | wc -l';
  await during(() => inUserNamespace(task, scratch, ['sh', '-c', script, 'sh', scratch]), task);
  expect(task.lines.slice(0, 2)).toEqual(['0', 'no device']);
  expect(Number(task.lines[2])).toBeLessThan(10);
  expect(lstatSync(join(scratch, 'mine'))).toMatchObject({ uid: 0, gid: 0 });
  expect(lstatSync(join(scratch, 'his'))).toMatchObject({ uid: 1234, gid: 5678 });
});

test('its end is the end of the program, and what it printed is told', async () => {
  const scratch = temporary();
  symlinkSync('/bin/sh', join(scratch, 'sh-of-mine'));
  const failing = ['sh-of-mine', '-c', 'echo too bad >&2; exit 3'];
  expect(
    await refusal(
      during((task) => inUserNamespace(task, scratch, failing, { env: { PATH: `${scratch}:/usr/bin:/bin` } })),
    ),
  ).toMatch(/^sh-of-mine ended with code 3.*too bad/);
});

test('where none can be made, that is known before', async () => {
  const scratch = temporary();
  expect(await during((task) => hasUserNamespaces(task, scratch))).toBe(true);
  const task = directWork();
  const without = { ...task, program: () => task.program('sh', ['-c', 'echo "unshare failed" >&2; exit 1']) };
  expect(await during(() => hasUserNamespaces(without, scratch), task)).toBe(false);
});
