import { it } from 'vitest';
import { authorize, startHypervisors } from './fixtures/hypervisors.ts';
import { runPage } from './run-page.ts';

it('docs/machines.md shows commands that work', { timeout: 300_000 }, () =>
  runPage('docs/machines.md', {
    settings: { MUSTER_ACCELERATOR: 'qemu' },
    addresses: ['10.1.0.1/16', '10.1.0.11/16', '10.1.0.12/16'],
    prepare: (world) => startHypervisors(world, { hv1: '10.1.0.11', hv2: '10.1.0.12' }),
    ready: authorize,
  }),
);
