import { join } from 'node:path';
import type { HostKeys } from './host-keys.ts';
import { aliasOf, loggedDetails } from './process-log.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { isHostName, portOf, type Target } from './target.ts';

export interface ProcessSettings {
  /** The private key; undefined: whatever the configuration says. */
  readonly keyFile?: string | undefined;
  /** An ssh_config of the site; undefined: none is read. */
  readonly configuration?: string | undefined;
}

interface Call {
  /** Holds known_hosts and takes the log and the control socket. */
  readonly work: string;
  /** A command, not a subsystem or a jump: the session that kills it may join the connection. */
  readonly isCommand: boolean;
  readonly policy: HostKeys['policy'];
  readonly connectTimeout: number;
}

export const logFile = (work: string): string => join(work, 'log');

/** Through this socket further sessions join the connection; it is there when the connection stands. */
export const controlSocket = (work: string): string => join(work, 'control');

/** The words of an ssh command, up to and with the host. `hop` is its number on the way, counted from the end. */
export function sshArguments(target: Target, settings: ProcessSettings, call: Call, hop = 0): string[] {
  const { keyFile, configuration } = settings;
  const { work, policy, connectTimeout, isCommand } = call;
  const options: Record<string, string> = {
    BatchMode: 'yes',
    ControlMaster: isCommand ? 'yes' : 'no',
    ControlPath: isCommand ? controlSocket(work) : 'none',
    ControlPersist: 'no',
    ConnectTimeout: String(Math.max(1, Math.ceil(connectTimeout / 1_000))),
    ServerAliveInterval: '30',
    HostName: target.address.replaceAll('%', '%%'),
    HostKeyAlias: aliasOf(hop),
    HashKnownHosts: 'no',
    CheckHostIP: 'no',
    UpdateHostKeys: 'no',
    UserKnownHostsFile: join(work, 'known_hosts'),
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: policy === 'strict' ? 'yes' : 'accept-new',
    LogLevel: 'ERROR',
    // New in OpenSSH 8.5.
    IgnoreUnknown: 'LogVerbose',
    LogVerbose: loggedDetails(isCommand),
    ForwardAgent: 'no',
    ForwardX11: 'no',
    RequestTTY: 'no',
  };
  // A site's own configuration decides about keys and algorithms, unless it does not care.
  if (configuration === undefined) options['KexAlgorithms'] = '^curve25519-sha256';
  if (keyFile !== undefined && configuration === undefined) options['IdentitiesOnly'] = 'yes';
  if (target.jump !== undefined) options['ProxyCommand'] = proxyCommand(target.jump, settings, call, hop + 1);
  return [
    '-F',
    configuration ?? '/dev/null',
    '-E',
    logFile(work),
    ...(keyFile === undefined ? [] : ['-i', keyFile]),
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    '-p',
    String(portOf(target)),
    '-l',
    target.user,
    '--',
    // The blocks of a site's configuration are for names.
    isHostName(target.name) ? target.name : target.address,
  ];
}

/** ssh hands this to $SHELL after it has put host and port in the place of %h and %p. */
function proxyCommand(jump: Target, settings: ProcessSettings, call: Call, hop: number): string {
  const words = sshArguments(jump, settings, { ...call, isCommand: false }, hop).map((word) =>
    quoteWord(word).replaceAll('%', '%%'),
  );
  return `ssh -W '[%h]:%p' ${words.join(' ')}`;
}

/** The words of an ssh command that joins a connection and never opens one of its own. */
export function joinArguments(work: string, command: string): string[] {
  const options = ['BatchMode=yes', `ControlPath=${controlSocket(work)}`, 'ProxyCommand=false', 'LogLevel=QUIET'];
  return ['-F', '/dev/null', ...options.flatMap((option) => ['-o', option]), '--', 'node', command];
}
