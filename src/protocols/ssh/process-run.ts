import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { Fault, Unreachable } from '../../core/errors.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { abortFault, commandTimeoutFault, loginFault, passingFault, throughFault, unstartedFault } from './faults.ts';
import { changedKey, type HostKeys, unknownKey } from './host-keys.ts';
import { type ExecOptions, feed, hostAndPort, isHostName, type Output, portOf, type Target, wayTo } from './target.ts';

/** What a machine is called in known_hosts, by its number on the way: ssh would change capital letters in the name of the node. */
export const aliasOf = (hop: number): string => `hop${hop}`;

/** What the ssh program is asked to log besides its complaints: which key a host shows. */
const keyShown = 'sshconnect.c:verify_host_key():*';
/** And for commands: in which way one has ended, and all else that a host reports of its session. */
const sessionTold = 'clientloop.c:client_input_channel_req():*';

const loggedDetails = (ofCommand: boolean): string => (ofCommand ? `${keyShown},${sessionTold}` : keyShown);
/** Bytes that no honest host brings the log to. */
export const maximumLog = 1024 * 1024;
const isDetail = (line: string): boolean => /^debug\d: /.test(line);

/** How a command has ended on the node, where ssh itself shows only that it is over. */
export function endIn(log: string): 'code' | 'signal' | undefined {
  const [, kind] = /^debug\d: clientloop\.c:.* rtype exit-(status|signal) /m.exec(log) ?? [];
  return kind === 'status' ? 'code' : kind === 'signal' ? 'signal' : undefined;
}

const cannotReach = /timed out|refused|No route|unreachable|Could not resolve|stdio forwarding failed/i;
const wasLost = /closed by|reset by|Broken pipe/i;

/** Why ssh has failed. Its log is apart from what the command printed, and those on the way write into the same. */
export function failureIn(log: string, target: Target, keys: HostKeys): Fault {
  const lines = log
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !isDetail(line));
  const complaint = lines.join('\n');
  const named = wayTo(target).findLast(({ address }, index) =>
    [`for ${aliasOf(index)} `, `@${address}: `, `to host ${address} port `].some((text) => complaint.includes(text)),
  );
  const hop = named ?? target;
  const keysShown = log.match(/(?<= Server host key: \S+ )SHA256:[A-Za-z0-9+/]+/g);
  const fault = reasonIn(complaint, hop, keys, keysShown?.at(-1)) ?? unnamedReason(lines, hop);
  return hop === target ? fault : throughFault(hop, fault);
}

function reasonIn(complaint: string, hop: Target, keys: HostKeys, shown: string | undefined): Fault | undefined {
  if (complaint.includes('IDENTIFICATION HAS CHANGED')) {
    const fingerprint = /SHA256:[A-Za-z0-9+/]+/.exec(complaint)?.[0] ?? 'unknown';
    return changedKey(hop, keys.known(hop.name), fingerprint, keys);
  }
  if (/No \S+ host key is known for/.test(complaint)) return unknownKey(hop, shown, keys);
  if (complaint.includes('Permission denied')) return loginFault(hop);
  return undefined;
}

function unnamedReason(lines: readonly string[], hop: Target): Fault {
  const where = `${hostAndPort(hop)}${hop.jump === undefined ? '' : ` through ${hop.jump.name}`}`;
  const unreached = lines.find((line) => cannotReach.test(line));
  if (unreached !== undefined) return new Unreachable(`its sshd at ${where} cannot be reached: ${unreached}`);
  const last = lines.at(-1);
  if (last !== undefined && lines.some((line) => wasLost.test(line)))
    return new Unreachable(`the connection to its sshd at ${where} was lost: ${last}`);
  if (last !== undefined) return new Fault('invalid', `ssh to ${where} failed: ${last}`);
  return new Fault(
    'invalid',
    `it is unknown how the command ended: the connection to its sshd at ${where} was lost, or the ssh program is too old ` +
      'to distinguish an exit code of 255 or a signal from that.',
  );
}

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

/** What the ssh program exits with when it has failed itself, though a command may do so too. */
export const ownFailure = 255;
/** Milliseconds between two looks at what the process has left in files. */
const glance = 100;

interface SshRun {
  readonly child: ChildProcess;
  isConnected(): boolean;
  /** Whether the host fills the log, and what to say then. */
  isFlooded(): boolean;
  readonly flood: Fault;
  /** Milliseconds until it must be connected, and what to say when it is not. */
  readonly connectTimeout: number;
  readonly late: Fault;
  /** Ends what runs on the node, then the process. */
  kill(): void;
}

/** Passes input and output of an ssh process on, and waits for its end; the answer is its exit code. */
export function awaitRun(run: SshRun, output: Output, options: ExecOptions): Promise<number> {
  const { child } = run;
  const { signal, commandTimeout, stdin } = options;
  return new Promise((resolve, reject) => {
    let over = false;
    const stop = (error: unknown): void => {
      if (over) return;
      leave();
      reject(passingFault(error));
      child.stdout?.removeAllListeners('data').resume();
      child.stderr?.removeAllListeners('data').resume();
      run.kill();
    };
    const watch = { aborted: (): void => stop(abortFault(signal)) };
    let timer = setTimeout(() => stop(run.late), run.connectTimeout);
    let connected = false;
    const looking = setInterval(() => {
      if (run.isFlooded()) {
        child.kill('SIGKILL');
        stop(run.flood);
      }
      if (over || connected || !run.isConnected()) return;
      connected = true;
      clearTimeout(timer);
      if (commandTimeout === undefined) return;
      timer = setTimeout(() => stop(commandTimeoutFault(commandTimeout)), commandTimeout);
    }, glance);
    const leave = (): void => {
      over = true;
      clearInterval(looking);
      clearTimeout(timer);
      unwatchAbort(signal, watch);
    };
    watchAbort(signal, watch);
    passOn(child, output, stop);
    child.once('error', (error) => stop(unstartedFault(error)));
    child.once('close', (code) => {
      leave();
      resolve(code ?? ownFailure);
    });
    feed(child.stdin!, stdin, () => over).catch(stop);
    // It may have been meanwhile, before anybody watched.
    if (signal.aborted) watch.aborted();
  });
}

/** Reads no more of a stream until what came is taken. */
function passOn(child: ChildProcess, output: Output, failed: (error: unknown) => void): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = child[name]!;
    stream.on('data', (chunk: Buffer) => {
      try {
        const taken = output[name](chunk);
        if (taken === undefined) return;
        stream.pause();
        taken.then(() => stream.resume(), failed);
      } catch (error) {
        failed(error);
      }
    });
  }
}
