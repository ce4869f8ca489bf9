import type { Duplex, Writable } from 'node:stream';
import type { Target } from './target.ts';

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
