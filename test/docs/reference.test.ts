import { it } from 'vitest';
import { runPage } from './run-page.ts';

it.each(['attributes', 'tables', 'commands'])('docs/reference/%s.md shows commands that work', (name) =>
  runPage(`docs/reference/${name}.md`),
);
