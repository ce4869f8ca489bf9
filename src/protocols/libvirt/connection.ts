import type { Duplex } from 'node:stream';
import { cancelled, unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Fault } from '../../core/errors.ts';
import { garbled, LibvirtFault, readRefusal } from './faults.ts';
import {
  encodeMessage,
  Framer,
  type Message,
  messageTypes,
  programs,
  statuses,
  XdrReader,
  type XdrWriter,
} from './wire.ts';
import { keepaliveProcedures } from './procedures.ts';

/**
 * A daemon takes five requests of a client at a time, and the place to read the next one into counts as one of them. With a fifth
 * call under way it would read no keepalive.
 */
const callsInFlight = 4;
const usualTimeout = 30_000;

export interface CallOptions {
  readonly signal: AbortSignal;
  /** Milliseconds from when it is sent. Default: 30,000. */
  readonly timeout?: number | undefined;
}

export interface ConnectionOptions {
  /** The place that answers, for sentences. */
  readonly where: string;
  /** Milliseconds between signs of life. Default: 5,000. */
  readonly keepaliveInterval?: number | undefined;
}

interface Call {
  readonly procedure: number;
  readonly body: Buffer;
  readonly timeout: number;
  /** Nobody waits for its answer any more. */
  isAbandoned: boolean;
  timer: NodeJS.Timeout | undefined;
  settle(outcome: Buffer | Fault): void;
}

/** Calls and events over a stream to a libvirt daemon, whoever has opened it. */
export class LibvirtConnection {
  readonly where: string;
  readonly #stream: Duplex;
  readonly #framer = new Framer();
  readonly #keepalive: Keepalive;
  readonly #queue = new Set<Call>();
  readonly #sent = new Map<number, Call>();
  readonly #listeners = new Map<number, (body: XdrReader) => void>();
  #serial = 0;
  #ended: LibvirtFault | undefined;
  readonly #ending = Promise.withResolvers<LibvirtFault>();
  /** Called once, with what has ended it. */
  onEnd: ((reason: LibvirtFault) => void) | undefined;

  constructor(stream: Duplex, { where, keepaliveInterval }: ConnectionOptions) {
    this.where = where;
    this.#stream = stream;
    this.#keepalive = new Keepalive(
      (procedure) => this.#send(programs.keepalive, procedure, messageTypes.event, 0),
      (milliseconds) => this.#end(this.#lost(`has not answered for ${milliseconds / 1_000} s`)),
      keepaliveInterval,
    );
    stream.on('data', (piece: Buffer) => this.#take(piece));
    stream.on('error', (error) => this.#end(this.#lost(`was cut off (${error.message})`, error)));
    stream.on('close', () => this.#end(this.#lost('has closed the connection')));
    stream.on('end', () => this.#end(this.#lost('has closed the connection')));
  }

  /** Resolves with what has ended it. */
  get ended(): Promise<LibvirtFault> {
    return this.#ending.promise;
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** Sends a call when fewer than the daemon's number are under way. Who waits no longer leaves the daemon at work on it. */
  call(procedure: number, body: XdrWriter, { signal, timeout = usualTimeout }: CallOptions): Promise<XdrReader> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (signal.aborted) return Promise.reject(cancelled(signal));
    return new Promise((resolve, reject) => {
      const watch = { aborted: () => this.#abandon(call, cancelled(signal)) };
      const call: Call = {
        procedure,
        body: body.bytes(),
        timeout,
        isAbandoned: false,
        timer: undefined,
        settle(outcome) {
          unwatchAbort(signal, watch);
          clearTimeout(call.timer);
          if (outcome instanceof Fault) reject(outcome);
          else resolve(new XdrReader(outcome));
        },
      };
      watchAbort(signal, watch);
      this.#queue.add(call);
      this.#sendNext();
    });
  }

  /** Hands on the daemon's events of that procedure; what cannot be read ends the connection. */
  listen(procedure: number, heard: (body: XdrReader) => void): void {
    this.#listeners.set(procedure, heard);
  }

  /** From now on silence ends the connection. */
  watchLife(): void {
    if (this.isOpen) this.#keepalive.start();
  }

  close(): void {
    this.#end(this.#lost('was left'));
  }

  #sendNext(): void {
    for (const call of this.#queue) {
      if (this.#sent.size >= callsInFlight || this.#ended) return;
      this.#queue.delete(call);
      this.#serial = (this.#serial + 1) >>> 0;
      this.#sent.set(this.#serial, call);
      call.timer = setTimeout(() => this.#abandon(call, this.#late(call)), call.timeout);
      this.#send(programs.remote, call.procedure, messageTypes.call, this.#serial, call.body);
    }
  }

  /** Its place is free again when the daemon answers: until then it is at work. When all are so, the connection is of no more use. */
  #abandon(call: Call, reason: Fault): void {
    if (!this.#queue.delete(call)) call.isAbandoned = true;
    call.settle(reason);
    const isStuck = this.#sent.size >= callsInFlight && [...this.#sent.values()].every((each) => each.isAbandoned);
    if (isStuck) this.#end(this.#lost('answers no call'));
  }

  #send(program: number, procedure: number, type: number, serial: number, body?: Buffer): void {
    this.#stream.write(encodeMessage({ program, procedure, type, serial, status: statuses.ok }, body));
  }

  #take(piece: Buffer): void {
    this.#keepalive.heard();
    try {
      for (const message of this.#framer.add(piece)) {
        if (this.#ended) return;
        this.#deliver(message);
      }
    } catch (error) {
      if (!(error instanceof LibvirtFault)) throw error;
      this.#end(error);
    }
  }

  #deliver({ program, procedure, type, serial, status, body }: Message): void {
    if (program === programs.keepalive) {
      this.#keepalive.take(procedure);
      return;
    }
    if (program !== programs.remote) throw garbled(`a message of program ${program}`);
    if (type === messageTypes.event) {
      this.#listeners.get(procedure)?.(new XdrReader(body));
      return;
    }
    const call = this.#sent.get(serial);
    if (type !== messageTypes.reply || call?.procedure !== procedure) throw garbled('an answer that nobody asked for');
    if (status !== statuses.ok && status !== statuses.error) throw garbled(`an answer of status ${status}`);
    // What cannot be read is thrown while the call is still among those that hear of it.
    const outcome = status === statuses.ok ? body : readRefusal(this.where, new XdrReader(body));
    this.#sent.delete(serial);
    if (!call.isAbandoned) call.settle(outcome);
    this.#sendNext();
  }

  #late(call: Call): LibvirtFault {
    return new LibvirtFault('late', `libvirt on ${this.where} has not answered within ${call.timeout / 1_000} s.`);
  }

  #lost(what: string, cause?: unknown): LibvirtFault {
    return new LibvirtFault('lost', `libvirt on ${this.where} ${what}.`, { cause });
  }

  #end(reason: LibvirtFault): void {
    if (this.#ended) return;
    this.#ended = reason;
    this.#keepalive.stop();
    this.#stream.destroy();
    const waiting = [...this.#sent.values(), ...this.#queue].filter(({ isAbandoned }) => !isAbandoned);
    this.#sent.clear();
    this.#queue.clear();
    for (const call of waiting) call.settle(reason);
    this.onEnd?.(reason);
    this.#ending.resolve(reason);
  }
}

const usualInterval = 5_000;
const unansweredPings = 5;

/** Answers the signs of life that the other side asks for, and asks for some when it is silent. */
class Keepalive {
  readonly #interval: number;
  readonly #send: (procedure: number) => void;
  readonly #silent: (milliseconds: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #pings = 0;
  #hasHeard = false;

  constructor(send: (procedure: number) => void, silent: (milliseconds: number) => void, interval = usualInterval) {
    this.#send = send;
    this.#silent = silent;
    this.#interval = interval;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(), this.#interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  heard(): void {
    this.#hasHeard = true;
  }

  take(procedure: number): void {
    if (procedure === keepaliveProcedures.ping) this.#send(keepaliveProcedures.pong);
  }

  #look(): void {
    if (this.#hasHeard) {
      this.#hasHeard = false;
      this.#pings = 0;
    } else if (this.#pings === unansweredPings) {
      this.#silent(this.#interval * (unansweredPings + 1));
    } else {
      this.#pings++;
      this.#send(keepaliveProcedures.ping);
    }
  }
}
