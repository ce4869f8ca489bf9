import { join } from 'node:path';
import { it } from 'vitest';
import { said } from '../lab/child.ts';
import { runPage } from './run-page.ts';

it('docs/consoles.md shows commands that work', () =>
  runPage('docs/consoles.md', {
    settings: { MUSTER_IPMI_TIMEOUT: '5' },
    async prepare({ inside, start }) {
      // On loopback all addresses of a network belong to the machine.
      for (const address of ['10.3.0.1/16', '10.4.0.1/16']) inside.run('ip', 'address', 'add', address, 'dev', 'lo');
      await said(start('bmcs', process.execPath, join(import.meta.dirname, 'fixtures/bmcs.ts')), 'ready');
    },
  }));
