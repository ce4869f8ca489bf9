import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { runPage } from './run-page.ts';

it('docs/accounts.md shows commands that work', () =>
  runPage('docs/accounts.md', {
    prepare: ({ directory }) => writeFileSync(join(directory, 'password-file'), 'correct horse battery\n'),
  }));
