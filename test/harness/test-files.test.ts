import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { longest, placeOf, sharingFiles } from './test-files.ts';

const checkout = join(import.meta.dirname, '../..');
const files = globSync('test/**/*.test.ts', { cwd: checkout });

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

it('files that may run at the same time have their BMCs at different addresses', () => {
  const users = Map.groupBy(
    files.flatMap((file) => {
      const text = readFileSync(join(checkout, file), 'utf8');
      const prefixes = text.matchAll(/start(?:Light)?Bmcs\(\{[^}]*prefix: '([\d.]+)'/g).map(([, prefix]) => prefix!);
      return [...new Set(prefixes)].map((prefix) => ({ prefix, file }));
    }),
    ({ prefix }) => prefix,
  );
  expect(users.size).toBeGreaterThan(5);
  expect([...users.values()].filter(({ length }) => length > 1)).toEqual([]);
});
