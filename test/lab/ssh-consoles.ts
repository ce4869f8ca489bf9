import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKeyPair } from '../../src/protocols/ssh/host-keys.ts';
import { labAccounts, labAddresses } from './addresses.ts';
import { refuseBound, waitBound, waitFree } from './bound.ts';
import { type LabChild, startChild } from './child.ts';
import { descendants } from './ssh/daemon.ts';

export const consoleShells = ['openbmc', 'ilo', 'xcc', 'idrac', 'shared'] as const;
export type ConsoleShell = (typeof consoleShells)[number];

/** BMCs whose consoles are reached over SSH: real sshd, an account with a password, and what BMCs show after the login. */
export interface SshConsoleLab {
  readonly addresses: readonly string[];
  /** Somebody else has the console, or has it no more. */
  occupy(index: number, isTaken: boolean): void;
  /** Kills all that serves connections. */
  sever(index: number): void;
  changeHostKey(index: number): Promise<void>;
  stop(): Promise<void>;
}

const shell = join(import.meta.dirname, 'ssh/console-shell.mjs');

export async function startSshConsoles(
  shells: readonly ConsoleShell[],
  prefix: string,
  port: number,
): Promise<SshConsoleLab> {
  const addresses = labAddresses(prefix, shells.length);
  refuseBound('tcp', addresses, port);
  const directory = await mkdtemp(join(tmpdir(), 'muster-consoles-'));
  const file = (...names: string[]): string => join(directory, ...names);
  const { username, password } = labAccounts.administrator;
  const hash = execFileSync('openssl', ['passwd', '-6', password], { encoding: 'utf8' }).trim();
  const accounts = {
    passwd: `${readFileSync('/etc/passwd', 'utf8')}${username}:x:0:0::/:/bin/sh\n`,
    shadow: `${readFileSync('/etc/shadow', 'utf8')}${username}:${hash}:19000:0:99999:7:::\n`,
  };
  for (const [name, text] of Object.entries(accounts)) writeFileSync(file(name), text, { mode: 0o600 });
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });

  const taken = (index: number): string => file(`taken${index}`);
  const start = (index: number): LabChild => {
    const key = file(`key${index}`);
    rmSync(key, { force: true });
    writeFileSync(key, newKeyPair('lab').privateKey, { mode: 0o600 });
    const configuration = [
      `ListenAddress ${addresses[index]}:${port}`,
      `HostKey ${key}`,
      'PasswordAuthentication yes',
      'KbdInteractiveAuthentication no',
      'PubkeyAuthentication no',
      'PermitRootLogin yes',
      'UsePAM no',
      'UseDNS no',
      'PrintMotd no',
      'PrintLastLog no',
      'PidFile none',
      'LogLevel ERROR',
      `ForceCommand ${process.execPath} ${shell} ${shells[index]} ${taken(index)}`,
    ];
    writeFileSync(file(`conf${index}`), `${configuration.join('\n')}\n`);
    const mounts = Object.keys(accounts).map((name) => `mount --bind ${file(name)} /etc/${name} && `);
    const daemon = ['/usr/sbin/sshd', '-D', '-e', '-f', file(`conf${index}`)];
    const words = ['-m', 'sh', '-c', `${mounts.join('')}exec "$@"`, 'sh', ...daemon];
    return startChild('unshare', words, { directory, logFile: file(`log${index}`) });
  };
  const daemons = shells.map((_, index) => start(index));
  const sever = (index: number): void => {
    for (const pid of descendants(daemons[index]!.process.pid ?? 0)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
  };
  const ready = (): Promise<void> => waitBound('tcp', addresses, port, daemons);
  const stop = async (): Promise<void> => {
    daemons.forEach((_, index) => sever(index));
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await ready();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    addresses,
    occupy(index, isTaken) {
      if (isTaken) writeFileSync(taken(index), 'somebody');
      else rmSync(taken(index), { force: true });
    },
    sever(index) {
      sever(index);
      rmSync(taken(index), { force: true });
    },
    async changeHostKey(index) {
      sever(index);
      await daemons[index]!.stop();
      // Else the next could not have the address, and whoever looks would take the old one for it.
      await waitFree('tcp', [addresses[index]!], port);
      daemons[index] = start(index);
      await ready();
    },
    stop,
  };
}
