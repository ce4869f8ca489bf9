import { join } from 'node:path';
import { it } from 'vitest';
import { said } from '../lab/child.ts';
import { runPage } from './run-page.ts';

it('docs/pdu.md shows commands that work', () =>
  runPage('docs/pdu.md', {
    settings: { MUSTER_PDU_RESET_PAUSE: '1' },
    async prepare({ inside, start }) {
      inside.run('ip', 'address', 'add', '10.5.0.1/16', 'dev', 'lo');
      await said(start('pdus', process.execPath, join(import.meta.dirname, 'fixtures/pdus.ts')), 'ready');
    },
  }));
