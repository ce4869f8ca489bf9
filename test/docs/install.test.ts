import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { rootPassword } from '../harness/server.ts';
import { installed } from './fixtures/installed.ts';
import { runPage } from './run-page.ts';

it('docs/install.md shows commands that work', () =>
  runPage('docs/install.md', {
    ...installed,
    settings: { MUSTER_SOCKET_PATH: '/run/muster/muster.sock' },
    prepare(world) {
      installed.prepare(world);
      const { inside, directory } = world;
      const [certificate, key] = ['/etc/muster/server.pem', '/etc/muster/server.key'];
      const made = [
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        key,
        '-out',
        certificate,
      ];
      inside.run('openssl', 'req', '-x509', ...made, '-days', '90', '-subj', '/CN=muster.cluster.example');
      writeFileSync(join(directory, 'password-file'), `${rootPassword}\n`);
    },
  }));
