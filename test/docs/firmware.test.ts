import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { define, labNodes } from '../hardware/nodes.ts';
import { said } from '../lab/child.ts';
import { labImage } from '../lab/redfish.ts';
import { runPage } from './run-page.ts';

it('docs/firmware.md shows commands that work', () =>
  runPage('docs/firmware.md', {
    async prepare({ inside, start, directory }) {
      for (const address of ['10.3.0.1/16', '10.4.0.1/16']) inside.run('ip', 'address', 'add', address, 'dev', 'lo');
      await said(start('bmcs', process.execPath, join(import.meta.dirname, 'fixtures/bmcs.ts')), 'ready');
      for (const version of ['1.50', '1.51'])
        writeFileSync(join(directory, `bios-${version}.bin`), labImage('bios', version));
    },
    ready: ({ server }) => define(server, labNodes('m', 'redfish', ['10.4.0.1', '10.4.0.2'])),
  }));
