import { it } from 'vitest';
import { runPage } from './run-page.ts';

it('docs/nodes.md shows commands that work', () => runPage('docs/nodes.md'));
