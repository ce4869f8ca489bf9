import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { it } from 'vitest';
import { runPage } from './run-page.ts';
import type { World } from './world.ts';

const lab = join(import.meta.dirname, '../../scripts/lab.ts');

/** The lab as the page starts it, but for the server, which the world has. */
async function startLab({ server, start, environment }: World): Promise<void> {
  const ca = join(server.data, 'tls/ca.pem');
  const child = start(
    'lab',
    process.execPath,
    lab,
    '--bmcs',
    '8',
    '--url',
    environment['H']!,
    '--token',
    server.token,
    '--ca',
    ca,
  );
  while (!child.log().includes('The lab is ready.')) {
    if (child.process.exitCode !== null) throw new Error(`The lab has ended:\n${child.log()}`);
    await pause(50);
  }
}

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
  while (!child.log().includes('Server listening')) {
    if (child.process.exitCode !== null) throw new Error(`sshd has ended:\n${child.log()}`);
    await pause(20);
  }
}

it('docs/first-cluster.md shows commands that work', () =>
  runPage('docs/first-cluster.md', { settings: { MUSTER_IPMI_TIMEOUT: '3' }, prepare: startSshd, ready: startLab }));
