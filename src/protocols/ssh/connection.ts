import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client, ClientChannel, PseudoTtyOptions } from 'ssh2';
import { Unreachable } from '../../core/errors.ts';
import type { Slices } from '../../core/slices.ts';
import { hostAndPort, killCommand, killTimeout, portOf, type Target } from './target.ts';

/** Milliseconds a peer has to close its side of an ended connection. */
const farewell = 1_000;

/** One SSH connection. It carries one session at a time, so that all it runs on the node is that session, or streams to others. */
export class Connection {
  readonly target: Target;
  readonly #client: Client;
  readonly #socket: Socket | Duplex;
  readonly #reading: PacedReading;
  readonly #ended: Promise<void>;
  #open = true;
  #uses = 0;
  #timesUsed = 0;
  #killing = false;
  idleSince = performance.now();
  /** Called when the last use is over. */
  onIdle: (() => void) | undefined;
  /** Called when it is closed, from either side. */
  onEnd: (() => void) | undefined;

  constructor(target: Target, client: Client, socket: Socket | Duplex, reading: PacedReading) {
    this.target = target;
    this.#client = client;
    this.#socket = socket;
    this.#reading = reading;
    const gone = (): void => {
      this.#open = false;
      this.onEnd?.();
    };
    // A stream through another machine would stay half open when its far end is gone.
    client.once('end', () => {
      gone();
      socket.destroy();
    });
    this.#ended = new Promise((resolve) => {
      client.once('close', () => {
        gone();
        resolve();
      });
    });
  }

  get isOpen(): boolean {
    return this.#open;
  }

  get isIdle(): boolean {
    return this.#uses === 0;
  }

  get wasUsed(): boolean {
    return this.#timesUsed > 1;
  }

  /** Bytes received so far; undefined where nobody counts. */
  get received(): number | undefined {
    return 'bytesRead' in this.#socket ? this.#socket.bytesRead : undefined;
  }

  /** Says that it is in use, until `release`. */
  claim(): void {
    this.#uses++;
    this.#timesUsed++;
  }

  release(): void {
    if (--this.#uses > 0) return;
    this.idleSince = performance.now();
    this.onIdle?.();
  }

  exec(command: string, done: (error: Error | undefined, channel: ClientChannel) => void): void {
    this.#client.exec(command, done);
  }

  subsystem(name: string, done: (error: Error | undefined, channel: ClientChannel) => void): void {
    this.#client.subsys(name, done);
  }

  /** What the account gets that logs in, on a terminal. */
  shell(terminal: PseudoTtyOptions, done: (error: Error | undefined, channel: ClientChannel) => void): void {
    this.#client.shell(terminal, done);
  }

  /** A stream to a UNIX socket of the peer. */
  socket(path: string, done: (error: Error | undefined, channel: ClientChannel) => void): void {
    this.#client.openssh_forwardOutStreamLocal(path, done);
  }

  /** A stream to a port that the peer can reach; it gives back the use that the caller has claimed. */
  forward(target: Target): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const refused = (error: Error): void => {
        this.release();
        reject(error);
      };
      try {
        this.#client.forwardOut('127.0.0.1', 0, target.address, portOf(target), (error, channel) => {
          if (error) {
            refused(new Unreachable(`it cannot reach ${hostAndPort(target)}: ${error.message}.`));
            return;
          }
          channel.once('close', () => this.release());
          resolve(channel);
        });
      } catch (error) {
        refused(error as Error);
      }
    });
  }

  /** Stops reading while output is not taken, until the returned function is called, so that little of it is held here. */
  stall(): () => void {
    return this.#reading.hold();
  }

  /** Kills what its session runs, and closes. */
  kill(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#killing = true;
    const timer = setTimeout(() => this.destroy(), killTimeout);
    const end = (): void => {
      clearTimeout(timer);
      this.#killing = false;
      void this.end();
    };
    try {
      this.#client.exec(killCommand, (error, channel) => {
        if (error) {
          end();
          return;
        }
        channel.on('error', () => undefined).on('close', end);
        channel.resume().end();
        channel.stderr.on('error', () => undefined).resume();
      });
    } catch {
      // The peer has closed its side in this moment.
      end();
    }
  }

  /** Says goodbye and closes; what is being killed is killed first. */
  async end(): Promise<void> {
    if (this.#killing) return this.#ended;
    this.#client.end();
    this.#open = false;
    const timer = setTimeout(() => this.destroy(), farewell);
    await this.#ended;
    clearTimeout(timer);
  }

  destroy(): void {
    this.#open = false;
    this.#socket.destroy();
  }
}

/** Reads streams in turn: many peers that answer at once would hold the event loop until all are understood. */
export class PacedReading {
  readonly #stream: Duplex;
  readonly #slices: Slices;
  #holders = 0;
  #due = false;

  constructor(stream: Duplex, slices: Slices) {
    this.#stream = stream;
    this.#slices = slices;
    // Not before somebody listens, which the library does a moment after it was given the stream.
    setImmediate(() => stream.on('readable', () => this.#readLater()));
  }

  /** Reads nothing until what is returned is called. */
  hold(): () => void {
    this.#holders++;
    return () => {
      if (--this.#holders === 0) this.#readLater();
    };
  }

  #readLater(): void {
    if (this.#due || this.#holders > 0) return;
    this.#due = true;
    this.#slices.add(() => {
      this.#due = false;
      if (this.#holders === 0) this.#stream.read();
    });
  }
}
