import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { said } from '../lab/child.ts';
import { startLab } from './fixtures/lab.ts';
import { runPage } from './run-page.ts';
import type { World } from './world.ts';

/** The SSH server of the computer that the reader sits at. */
async function startSshd({ inside, directory, start }: Pick<World, 'inside' | 'directory' | 'start'>): Promise<void> {
  const key = join(directory, 'host-key');
  inside.run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', key);
  inside.run('mkdir', '-p', '/run/sshd');
  const configuration = join(directory, 'sshd.conf');
  writeFileSync(
    configuration,
    ['ListenAddress 127.0.0.1:22', `HostKey ${key}`, 'UsePAM yes', 'PidFile none', ''].join('\n'),
  );
  const child = start('sshd', '/usr/sbin/sshd', '-D', '-e', '-f', configuration);
  await said(child, 'Server listening');
}

it('docs/first-cluster.md shows commands that work', () =>
  runPage('docs/first-cluster.md', {
    settings: { MUSTER_IPMI_TIMEOUT: '3' },
    prepare: startSshd,
    ready: (world) => startLab(world, '--bmcs', '8'),
  }));
