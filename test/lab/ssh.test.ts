import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { refuseBound } from './bound.ts';
import { type SshLab, startSsh } from './ssh.ts';

/** Runs OpenSSH's own client. */
function ssh(lab: SshLab, index: number, command: string): string {
  const hosts = join(lab.home(0), '..', 'known_hosts');
  writeFileSync(hosts, `[${lab.addresses[index]}]:${lab.port} ${lab.hostKey(index)}\n`);
  const options = ['-F', '/dev/null', '-i', lab.privateKeyFile, '-p', String(lab.port), '-o', 'BatchMode=yes'];
  const known = ['-o', `UserKnownHostsFile=${hosts}`, '-o', 'StrictHostKeyChecking=yes'];
  const words = [...options, ...known, `${lab.username}@${lab.addresses[index]}`, command];
  return execFileSync('ssh', words, { encoding: 'utf8', timeout: 20_000 });
}

it('gives every address a home of its own, changes host keys and leaves nothing behind', async () => {
  const lab = await startSsh({ count: 20, prefix: '127.122', port: 2227 });
  try {
    for (const index of [0, 19]) {
      expect(ssh(lab, index, 'pwd; echo $HOME $LAB_NAME')).toBe(`${lab.home(index)}\n${lab.home(index)} t${index}\n`);
    }
    const before = lab.hostKey(19);
    await lab.changeHostKey(19);
    expect(lab.hostKey(19)).not.toBe(before);
    expect(ssh(lab, 19, 'echo again')).toBe('again\n');
  } finally {
    await lab.stop();
  }
  refuseBound('tcp', lab.addresses, lab.port);
  expect(existsSync(lab.home(0))).toBe(false);
});
