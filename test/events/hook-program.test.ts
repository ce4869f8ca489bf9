import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/events/hooks/run-program.ts';
import { temporaryDirectory } from '../harness/server.ts';

const directory = temporaryDirectory();
const program = (name: string, lines: string): string => {
  const file = join(directory, name);
  writeFileSync(file, `#!/bin/sh\n${lines}\n`);
  chmodSync(file, 0o755);
  return file;
};
const note = join(directory, 'pid');
const isThere = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

describe('the program of a hook', () => {
  it('that takes too long ends with all it has started', async () => {
    const file = program('slow', `sleep 600 & echo $! > ${note}; wait`);
    await expect(runProgram(file, 'h', '{}', 5_000)).rejects.toThrow('the program ended with SIGKILL');
    await expect.poll(() => isThere(Number(readFileSync(note, 'utf8'))), { timeout: 30_000 }).toBe(false);
  });

  it('is not waited for longer than it runs itself', async () => {
    const file = program('leaving', `sleep 600 & echo $! > ${note}`);
    await expect(runProgram(file, 'h', '{}', 60_000)).resolves.toBeUndefined();
    process.kill(Number(readFileSync(note, 'utf8')));
  });

  it('tells why it failed', async () => {
    const file = program('failing', 'cat > /dev/null; echo no room >&2; exit 3');
    await expect(runProgram(file, 'h', '{}', 60_000)).rejects.toThrow('the program ended with 3: no room');
  });
});
