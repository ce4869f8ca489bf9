import { existsSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** Of test/scripts/test-runner.test.ts, which wants a file that fails by chance; by itself it passes. */
const mark = process.env['MUSTER_TEST_FAILS_ONCE'];

it('fails once where somebody wants it to', () => {
  const isFirst = mark !== undefined && !existsSync(mark);
  if (isFirst) writeFileSync(mark, '');
  expect(isFirst).toBe(false);
});
