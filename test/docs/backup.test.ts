import { it } from 'vitest';
import { installed } from './fixtures/installed.ts';
import { runPage } from './run-page.ts';

it('docs/backup.md shows commands that work', () =>
  runPage('docs/backup.md', {
    ...installed,
    prepare(world) {
      installed.prepare(world);
      world.inside.run('touch', '/etc/muster/muster.toml');
    },
  }));
