import { isIP } from 'node:net';
import type { Duplex, Writable } from 'node:stream';
import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';

export interface Target {
  /** What its host key is kept under: the name of the node. */
  readonly name: string;
  readonly address: string;
  /** Default: 22. */
  readonly port?: number | undefined;
  readonly user: string;
  /** Shown instead of the key, to hand out the key for example. Such connections are not kept. */
  readonly password?: string | undefined;
  readonly jump?: Target | undefined;
}

const defaultPort = 22;
const maximumJumps = 4;

// Both end up as words of an ssh command in the process transport, where a leading dash would make them options.
const hostName = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$/;
const userName = /^[A-Za-z0-9_.][A-Za-z0-9_.@$+\\-]{0,127}$/;

export const isHostName = (text: string): boolean => hostName.test(text);

export const portOf = ({ port }: Target): number => port ?? defaultPort;

export const hostAndPort = (target: Target): string => formatListen({ host: target.address, port: portOf(target) });

/** The target and the machines it is reached through. */
export function wayTo(target: Target): Target[] {
  return target.jump === undefined ? [target] : [target, ...wayTo(target.jump)];
}

/** Equal for targets that may share a connection. */
export function connectionKey(target: Target): string {
  const through = target.jump === undefined ? '' : ` ${connectionKey(target.jump)}`;
  return `${target.user} ${target.name} ${hostAndPort(target)}${through}`;
}

export function checkTarget(target: Target): void {
  const { address, user } = target;
  if (isIP(address) === 0 && !isHostName(address)) {
    throw new Fault('invalid', `"${address}" is neither an address nor the name of a host.`);
  }
  if (!userName.test(user)) throw new Fault('invalid', `"${user}" is not the name of a user on a node.`);
  let jumps = 0;
  for (let at = target.jump; at !== undefined; at = at.jump) {
    if (++jumps > maximumJumps) throw new Fault('invalid', `it is reached through more than ${maximumJumps} others.`);
  }
  if (target.jump !== undefined) checkTarget(target.jump);
}

/**
 * Where output goes as it comes. After a promise nothing more is read from the node until it is settled, except what had arrived
 * before; if it is rejected, the command is ended with that error. Who keeps a node waiting for two minutes loses the connection.
 */
export interface Output {
  stdout(chunk: Buffer): void | Promise<void>;
  stderr(chunk: Buffer): void | Promise<void>;
}

/** How a command ended: with a code or by a signal such as `SIGTERM`. */
export interface Exit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

/** Where only that it was a signal is known. */
export const unknownSignal = 'unknown';

export interface OpenOptions {
  /** Ends the work: what runs on the node is killed, and the waiting is over at once. */
  readonly signal: AbortSignal;
  /** Milliseconds for each step towards a started command: every connection on the way, and the start. Default: 10,000. */
  readonly connectTimeout?: number | undefined;
}

export interface ExecOptions extends OpenOptions {
  /** Milliseconds the command may run. Default: as long as it likes. */
  readonly commandTimeout?: number | undefined;
  /** What the command reads. Default: nothing. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

export const defaultConnectTimeout = 10_000;

/** Gives a command what it reads, as fast as it is taken; nothing more once it is over. */
export async function feed(into: Writable, input: ExecOptions['stdin'], isOver: () => boolean): Promise<void> {
  if (input === undefined || typeof input === 'string' || input instanceof Uint8Array) {
    into.end(input);
    return;
  }
  for await (const chunk of input) {
    if (isOver() || !into.writable) return;
    if (!into.write(chunk)) await new Promise((resolve) => into.once('drain', resolve).once('close', resolve));
  }
  into.end();
}

/** One way to run commands on nodes. Failures are Faults whose sentences go after the node's name. */
export interface Transport {
  /** Runs a command in the user's shell. */
  exec(target: Target, command: string, output: Output, options: ExecOptions): Promise<Exit>;
  /** A subsystem such as `sftp` as a stream of bytes; destroying it ends it. */
  subsystem(target: Target, name: string, options: OpenOptions): Promise<Duplex>;
  /** A UNIX socket of the node as a stream of bytes. */
  socket(target: Target, path: string, options: OpenOptions): Promise<Duplex>;
  close(): Promise<void>;
}

/**
 * Ends the process groups that the same sshd process has started. sshd hands no signals to what root runs, so a second session of
 * the connection has to. `exec` makes sshd its parent whatever the user's shell is, and one line is what every shell can quote.
 */
export const killCommand = `exec sh -c '${[
  'others() { for p in $(cat /proc/$PPID/task/$PPID/children); do [ $p = $$ ] || echo $p; done; }',
  'for p in $(others); do kill -TERM -$p; done',
  'sleep 1',
  'for p in $(others); do kill -KILL -$p; done',
].join('; ')}'`;

/** Milliseconds that it may take. */
export const killTimeout = 5_000;
