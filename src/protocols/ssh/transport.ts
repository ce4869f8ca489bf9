import type { Duplex } from 'node:stream';
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
  readonly connectDeadline?: number | undefined;
}

export interface ExecOptions extends OpenOptions {
  /** Milliseconds the command may run. Default: as long as it likes. */
  readonly commandDeadline?: number | undefined;
  /** What the command reads. Default: nothing. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

export const defaultConnectDeadline = 10_000;

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
