import type { ClientChannel } from 'ssh2';
import { unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Fault } from '../../core/errors.ts';
import type { Connection } from './connection.ts';
import { abortFault, commandTimeoutFault, connectTimeoutFault, lostFault, passingFault } from './faults.ts';
import { defaultConnectTimeout, type ExecOptions, type Exit, feed, hostAndPort, type Output } from './target.ts';

/** Runs a command on a connection that was claimed for it, and gives that back. */
export function execOn(connection: Connection, command: string, output: Output, options: ExecOptions): Promise<Exit> {
  return new Promise((resolve, reject) => {
    new Session(connection, output, options, resolve, reject).start(command);
  });
}

class Session {
  readonly #connection: Connection;
  readonly #output: Output;
  readonly #options: ExecOptions;
  readonly #resolve: (exit: Exit) => void;
  readonly #reject: (fault: Fault) => void;
  readonly #watch = { aborted: (): void => this.#stop(abortFault(this.#options.signal)) };
  #channel: ClientChannel | undefined;
  #timer: NodeJS.Timeout | undefined;
  #exit: Exit | undefined;
  /** Nobody waits any more. */
  #over = false;
  /** What lets output flow again that was not taken yet. */
  readonly #pending = new Set<() => void>();
  #streams = 2;

  constructor(
    connection: Connection,
    output: Output,
    options: ExecOptions,
    resolve: (exit: Exit) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#connection = connection;
    this.#output = output;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(command: string): void {
    const { signal, connectTimeout = defaultConnectTimeout } = this.#options;
    const { target } = this.#connection;
    watchAbort(signal, this.#watch);
    this.#timer = setTimeout(() => {
      this.#stop(connectTimeoutFault(target, connectTimeout));
      this.#connection.destroy();
    }, connectTimeout);
    try {
      this.#connection.exec(command, (error, channel) => {
        clearTimeout(this.#timer);
        if (error) this.#refused(error);
        else this.#opened(channel);
      });
    } catch (error) {
      this.#refused(error);
    }
  }

  #refused(error: unknown): void {
    const { target, isOpen } = this.#connection;
    const sentence = `its sshd at ${hostAndPort(target)} did not start the command: ${(error as Error).message}.`;
    this.#connection.release();
    this.#stop(isOpen ? new Fault('invalid', sentence) : lostFault(target, error));
  }

  #opened(channel: ClientChannel): void {
    this.#channel = channel;
    const closed = (): void => this.#closed();
    channel.on('error', () => undefined).once('close', closed);
    channel.stderr.on('error', () => undefined).once('close', closed);
    if (this.#over) {
      this.#kill();
      return;
    }
    const { commandTimeout } = this.#options;
    if (commandTimeout !== undefined) {
      this.#timer = setTimeout(() => this.#stop(commandTimeoutFault(commandTimeout)), commandTimeout);
    }
    channel.once('exit', (code: number | null, name?: string) => {
      this.#exit = { code: code ?? undefined, signal: name };
    });
    channel.on('data', (chunk: Buffer) => this.#take('stdout', chunk));
    channel.stderr.on('data', (chunk: Buffer) => this.#take('stderr', chunk));
    feed(channel, this.#options.stdin, () => this.#over).catch((error: unknown) => this.#stop(passingFault(error)));
  }

  /** Holds the node back while output is not taken. */
  #take(stream: keyof Output, chunk: Buffer): void {
    let taken: void | Promise<void>;
    try {
      taken = this.#output[stream](chunk);
    } catch (error) {
      this.#stop(passingFault(error));
      return;
    }
    if (taken === undefined) return;
    const resume = this.#connection.stall();
    this.#pending.add(resume);
    const goOn = (): void => {
      if (this.#pending.delete(resume)) resume();
      this.#finish();
    };
    taken.then(goOn, (error: unknown) => {
      this.#stop(passingFault(error));
      goOn();
    });
  }

  #closed(): void {
    if (--this.#streams > 0) return;
    this.#connection.release();
    this.#finish();
  }

  /** All has arrived and was taken. */
  #finish(): void {
    if (this.#streams > 0 || this.#pending.size > 0 || this.#over) return;
    this.#leave();
    if (this.#exit) this.#resolve(this.#exit);
    else this.#reject(lostFault(this.#connection.target));
  }

  #leave(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    unwatchAbort(this.#options.signal, this.#watch);
  }

  #stop(fault: Fault): void {
    if (this.#over) return;
    this.#leave();
    this.#reject(fault);
    this.#kill();
  }

  /** Nobody waits for it any more: what it still prints is thrown away. */
  #kill(): void {
    const channel = this.#channel;
    if (channel === undefined || this.#streams === 0) return;
    channel.removeAllListeners('data').resume();
    channel.stderr.removeAllListeners('data').resume();
    for (const resume of this.#pending) resume();
    this.#pending.clear();
    this.#connection.kill();
  }
}
