import { it } from 'vitest';
import { runPage } from './run-page.ts';

it('docs/security.md shows commands that work', () => runPage('docs/security.md'));
