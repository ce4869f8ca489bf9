import { SshClient } from '../../protocols/ssh/client.ts';
import type { HostKeys } from '../../protocols/ssh/host-keys.ts';
import { SshProcesses } from '../../protocols/ssh/process.ts';
import { wayTo } from '../../protocols/ssh/target.ts';
import { RemoteNodes } from './remote-nodes.ts';
import type { RemoteTarget } from './targets.ts';

/** How nodes are reached, as plain data for another process on this machine. */
export interface RemoteAccess {
  readonly transport: 'ssh2' | 'process';
  readonly sshConfig?: string | undefined;
  readonly privateKeyFile: string;
  readonly keepSeconds: number;
  readonly connectSeconds: number;
  readonly commandSeconds: number;
}

/** The way to nodes, with the host keys that the process knows. */
export function openAccess(access: RemoteAccess, hostKeys: HostKeys, privateKey: string): RemoteNodes {
  const { transport, sshConfig, privateKeyFile, keepSeconds, connectSeconds, commandSeconds } = access;
  return new RemoteNodes({
    transport:
      transport === 'ssh2'
        ? new SshClient({ privateKey, hostKeys, idle: keepSeconds * 1_000 })
        : new SshProcesses({ keyFile: privateKeyFile, configuration: sshConfig, hostKeys }),
    connectTimeout: connectSeconds * 1_000,
    commandTimeout: commandSeconds * 1_000,
  });
}

/** For a process without a database: only the keys that the target brings along are accepted. */
export function keysOf(target: RemoteTarget): HostKeys {
  const hops = wayTo(target) as RemoteTarget[];
  return {
    policy: 'strict',
    known: (name) => hops.flatMap((hop) => (hop.name === name && hop.hostKey !== undefined ? [hop.hostKey] : [])),
    learn: () => Promise.resolve(),
    howToForget: (name) =>
      `DELETE /tables/sshhostkey/rows/node=${name}. The next command on the node accepts the new one.`,
    howToLearn: (name) => `Run a command there first, POST /nodes/${name}/nodeshell {"command":["true"]}.`,
  };
}
