import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instructionFor } from '../../../src/nodes/remote/shell-command.ts';
import { readShellRequest, type ShellBody } from '../../../src/nodes/remote/shell-request.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-shell-'));
  writeFileSync(join(directory, 'sudo'), '#!/bin/sh\necho "sudo $1 $2"\nshift 2\nexec "$@"\n', { mode: 0o755 });
  writeFileSync(join(directory, 'script'), '#!/bin/sh\necho "script $A $#"\n');
});
afterAll(() => rmSync(directory, { recursive: true }));

function run(body: ShellBody): string {
  const { command, stdin } = instructionFor(readShellRequest(body), (path) => join(directory, path), 'key');
  const env = { PATH: `${directory}:${process.env.PATH}` };
  return execFileSync('sh', ['-c', command], { env, input: stdin ?? '', encoding: 'utf8' });
}

describe('what a shell on a node gets', () => {
  it.each<[string, ShellBody, string]>([
    [
      'a command by sudo',
      { command: `echo "it's" $A`, raw: '--sudo', ENV: { A: "b  'c'" } },
      "sudo -n --\nit's b 'c'\n",
    ],
    ['a script by sudo', { command: 'script 1 2', raw: '-e --sudo', ENV: { A: 'x' } }, 'sudo -n --\nscript x 2\n'],
    ['a script', { command: [['script', 'a b', ';', '']], raw: '-e' }, 'script  3\n'],
  ])('runs %s', (_name, body, output) => {
    expect(run(body)).toBe(output);
  });

  it('takes no script that is too large or no file', () => {
    writeFileSync(join(directory, 'large'), Buffer.alloc(5_000_000));
    for (const command of ['large', '.', 'missing']) expect(() => run({ command, raw: '-e' })).toThrow(/cannot be/);
  });
});
