import { it } from 'vitest';
import { runPage } from './run-page.ts';

it('docs/history.md shows commands that work', () =>
  runPage('docs/history.md', {
    settings: { MUSTER_HOOKS_DIRECTORY: '/etc/muster/hooks', MUSTER_HOOKS_NETWORKS: '10.1.0.0/16' },
    prepare({ inside }) {
      inside.run('mkdir', '-p', '/etc/muster/hooks');
    },
  }));
