import { join } from 'node:path';
import type { HostKeys } from './host-keys.ts';
import { quoteWord } from './quote.ts';
import { portOf, type Target } from './target.ts';

export interface ProcessSettings {
  /** The private key; undefined: whatever the configuration says. */
  readonly keyFile?: string | undefined;
  /** An ssh_config of the site; undefined: none is read. */
  readonly configuration?: string | undefined;
}

interface Call {
  /** Holds known_hosts and takes the log. */
  readonly work: string;
  readonly policy: HostKeys['policy'];
  readonly connectDeadline: number;
}

/** The words of an ssh command, up to and with the host. */
export function sshArguments(target: Target, settings: ProcessSettings, call: Call): string[] {
  const { keyFile, configuration } = settings;
  const { work, policy, connectDeadline } = call;
  const options: Record<string, string> = {
    BatchMode: 'yes',
    ControlMaster: 'no',
    ControlPath: 'none',
    ConnectTimeout: String(Math.max(1, Math.ceil(connectDeadline / 1_000))),
    ServerAliveInterval: '30',
    HostKeyAlias: target.name,
    HashKnownHosts: 'no',
    CheckHostIP: 'no',
    UpdateHostKeys: 'no',
    UserKnownHostsFile: join(work, 'known_hosts'),
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: policy === 'strict' ? 'yes' : 'accept-new',
    LogLevel: 'ERROR',
    ForwardAgent: 'no',
    ForwardX11: 'no',
    RequestTTY: 'no',
  };
  // A site's own configuration decides about keys and algorithms, unless it does not care.
  if (configuration === undefined) options['KexAlgorithms'] = '^curve25519-sha256';
  if (keyFile !== undefined && configuration === undefined) options['IdentitiesOnly'] = 'yes';
  if (target.jump !== undefined) options['ProxyCommand'] = proxyCommand(target.jump, settings, call);
  return [
    '-F',
    configuration ?? '/dev/null',
    '-E',
    join(work, 'log'),
    ...(keyFile === undefined ? [] : ['-i', keyFile]),
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    '-p',
    String(portOf(target)),
    '-l',
    target.user,
    '--',
    target.address,
  ];
}

/** ssh hands this to $SHELL after it has put host and port in the place of %h and %p. */
function proxyCommand(jump: Target, settings: ProcessSettings, call: Call): string {
  const words = sshArguments(jump, settings, call).map((word) => quoteWord(word).replaceAll('%', '%%'));
  return `ssh -W '[%h]:%p' ${words.join(' ')}`;
}
