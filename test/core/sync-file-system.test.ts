import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { writeAlong } from '../../src/core/sync-file-system.ts';
import { until } from '../harness/processes.ts';
import { scratchDirectory } from '../harness/store.ts';

const scratch = scratchDirectory();
afterAll(() => rmSync(scratch, { recursive: true }));

test('what is written to a file goes to the disk while it grows, and a file that is not there is waited for', async () => {
  const file = join(scratch, 'growing');
  // What is in memory only has no place on the disk yet.
  const isOnDisk = (): boolean => !execFileSync('filefrag', ['-v', file], { encoding: 'utf8' }).includes('delalloc');
  const end = writeAlong(file);
  try {
    for (const bytes of [1_000_000, 2_000_000]) {
      writeFileSync(file, Buffer.alloc(bytes, 1), { flag: 'a' });
      await until(isOnDisk);
      expect(isOnDisk()).toBe(true);
    }
  } finally {
    end();
  }
});
