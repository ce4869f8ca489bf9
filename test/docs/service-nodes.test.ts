import { it } from 'vitest';
import { runPage } from './run-page.ts';

it('docs/service-nodes.md shows commands that work', () => runPage('docs/service-nodes.md'));
