import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { said } from '../lab/child.ts';
import { rootPassword } from '../harness/server.ts';
import { runPage } from './run-page.ts';

const bmcs = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.1.0.4'];

it('docs/programs.md shows commands that work', () =>
  runPage('docs/programs.md', {
    addresses: bmcs.map((address) => `${address}/32`),
    settings: {
      MUSTER_SOCKET_PATH: '/run/muster/muster.sock',
      MUSTER_SOCKET_ACCOUNTS: 'true',
      // Nobody answers at the BMC of n5.
      MUSTER_IPMI_TIMEOUT: '3',
    },
    async prepare({ directory, inside, start }) {
      inside.run('mkdir', '/run/muster');
      inside.run('rm', '-rf', '/var/lib/muster');
      inside.run('ln', '-s', join(directory, 'muster'), '/var/lib/muster');
      const lab = start('bmcs', process.execPath, join(import.meta.dirname, 'fixtures/light-bmcs.ts'), ...bmcs);
      await said(lab, 'ready');
    },
    ready({ server }) {
      // As the first start writes it where nobody gives a password.
      writeFileSync(join(server.data, 'initial-password'), `${rootPassword}\n`);
    },
  }));
