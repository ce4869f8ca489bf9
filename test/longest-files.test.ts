import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { longest } from './longest-files.ts';

it('names files that are there', () => {
  expect(longest.filter((file) => !existsSync(join(import.meta.dirname, '..', file)))).toEqual([]);
});
