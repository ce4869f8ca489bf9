import { join } from 'node:path';
import { it } from 'vitest';
import { define, labNodes } from '../hardware/nodes.ts';
import { said } from '../lab/child.ts';
import { runPage } from './run-page.ts';

it('docs/media.md shows commands that work', () =>
  runPage('docs/media.md', {
    async prepare({ inside, start }) {
      for (const address of ['10.3.0.1/16', '10.4.0.1/16']) inside.run('ip', 'address', 'add', address, 'dev', 'lo');
      await said(start('bmcs', process.execPath, join(import.meta.dirname, 'fixtures/bmcs.ts')), 'ready');
    },
    ready: ({ server }) => define(server, labNodes('m', 'redfish', ['10.4.0.1'])),
  }));
