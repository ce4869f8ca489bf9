import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { longest, placeOf, sharingFiles } from './test-files.ts';

const files = globSync('test/**/*.test.ts', { cwd: join(import.meta.dirname, '../..') });

it('names long files that are there', () => {
  expect(longest.filter((pattern) => !files.some((file) => pattern.test(file)))).toEqual([]);
});

it('puts the longest first', () => {
  expect(placeOf(join(import.meta.dirname, '../cli/replay-boot.test.ts'))).toBeLessThan(longest.length);
  expect(placeOf(import.meta.filename)).toBe(longest.length);
});

it('lets files share a process that start nothing, themselves or by what they import', () => {
  const sharing = sharingFiles();
  expect(sharing).toContain('test/noderange/expand.test.ts');
  expect(sharing).not.toContain('test/rest/same-name.test.ts');
  expect(sharing).not.toContain('test/scripts/test-runner.test.ts');
});
