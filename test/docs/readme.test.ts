import { expect, it } from 'vitest';
import { startLab } from './fixtures/lab.ts';
import { pageText } from './page.ts';
import { runPage } from './run-page.ts';

it('README.md shows commands that work', () =>
  runPage('README.md', { ready: (world) => startLab(world, '--bmcs', '20') }));

it('README.md can be read in a few minutes', () => {
  expect(pageText('README.md').split(/\s+/).length).toBeLessThanOrEqual(900);
});
