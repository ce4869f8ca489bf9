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

/** What comes over a stream that a call has opened. */
export interface StreamListener {
  data(bytes: Buffer): void;
  /** Once, unless it was we who closed it. Not when the connection ends. */
  closed(reason: Fault | undefined): void;
}

export interface OpenStream {
  /** Resolves when the connection has taken them. */
  write(bytes: Uint8Array): Promise<void>;
  close(): void;
}

/** `isLeft`: we have closed it, and the daemon has not confirmed that. */
interface Channel {
  readonly procedure: number;
  readonly listener: StreamListener;
  isLeft: boolean;
}

interface Call {
  readonly procedure: number;
  readonly body: Buffer;
  readonly timeout: number;
  /** Nobody waits for its answer any more. */
  isAbandoned: boolean;
  timer: NodeJS.Timeout | undefined;
  /** Of a call whose answer is a stream: what has come of it. */
  readonly stream: { readonly most: number; readonly pieces: Buffer[]; held: number } | undefined;
  /** Of a call that opens a stream for both sides: who hears what comes. */
  readonly listener: StreamListener | undefined;
  serial: number;
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
  readonly #channels = new Map<number, Channel>();
  #resting: NodeJS.Timeout | undefined;
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
  async call(procedure: number, body: XdrWriter, options: CallOptions): Promise<XdrReader> {
    const { answer } = await this.#ask(procedure, body, undefined, undefined, options);
    return new XdrReader(answer);
  }

  /** The same for a call that sends bytes after its answer, at most so many. */
  async download(procedure: number, body: XdrWriter, most: number, options: CallOptions): Promise<Buffer> {
    return (await this.#ask(procedure, body, { most, pieces: [], held: 0 }, undefined, options)).answer;
  }

  /** The same for a call that opens a stream in both directions. */
  async openStream(
    procedure: number,
    body: XdrWriter,
    listener: StreamListener,
    options: CallOptions,
  ): Promise<OpenStream> {
    const { serial } = await this.#ask(procedure, body, undefined, listener, options);
    return {
      write: (bytes) => this.#writeTo(serial, Buffer.from(bytes)),
      close: () => this.#leave(serial),
    };
  }

  #ask(
    procedure: number,
    body: XdrWriter,
    stream: Call['stream'],
    listener: StreamListener | undefined,
    { signal, timeout = usualTimeout }: CallOptions,
  ): Promise<{ readonly answer: Buffer; readonly serial: number }> {
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
        stream,
        listener,
        serial: 0,
        settle(outcome) {
          unwatchAbort(signal, watch);
          clearTimeout(call.timer);
          if (outcome instanceof Fault) reject(outcome);
          else resolve({ answer: outcome, serial: call.serial });
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

  /** Reads nothing for a while: somebody sends more than can be taken. */
  rest(milliseconds: number): void {
    if (this.#resting !== undefined || this.#ended) return;
    this.#stream.pause();
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      this.#stream.resume();
    }, milliseconds);
  }

  close(): void {
    this.#end(this.#lost('was left'));
  }

  #sendNext(): void {
    for (const call of this.#queue) {
      if (this.#sent.size >= callsInFlight || this.#ended) return;
      this.#queue.delete(call);
      this.#serial = (this.#serial + 1) >>> 0;
      call.serial = this.#serial;
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
    const channel = this.#channels.get(serial);
    if (channel) return this.#deliverTo(channel, { procedure, serial, status, body });
    const call = this.#sent.get(serial);
    const isStream = type === messageTypes.stream && call?.stream !== undefined;
    if ((type !== messageTypes.reply && !isStream) || call?.procedure !== procedure)
      throw garbled('an answer that nobody asked for');
    if (isStream && status === statuses.continue) return this.#collect(call, serial, body);
    if (status !== statuses.ok && status !== statuses.error) throw garbled(`an answer of status ${status}`);
    // The stream follows.
    if (call.stream && !isStream && status === statuses.ok) return;
    // What cannot be read is thrown while the call is still among those that hear of it.
    const answer = call.stream ? Buffer.concat(call.stream.pieces) : body;
    const outcome = status === statuses.ok ? answer : readRefusal(this.where, new XdrReader(body));
    this.#sent.delete(serial);
    if (call.listener && !(outcome instanceof Fault)) this.#openChannel(serial, call, call.listener);
    if (!call.isAbandoned) call.settle(outcome);
    this.#sendNext();
  }

  #openChannel(serial: number, { procedure, isAbandoned }: Call, listener: StreamListener): void {
    this.#channels.set(serial, { procedure, listener, isLeft: false });
    if (isAbandoned) this.#leave(serial);
  }

  /** An empty piece is the end, as it is of a download. */
  #deliverTo(channel: Channel, { procedure, serial, status, body }: Omit<Message, 'program' | 'type'>): void {
    if (procedure !== channel.procedure) throw garbled('a piece of a stream under another name');
    const { isLeft, listener } = channel;
    if (status === statuses.continue && body.length > 0) {
      if (!isLeft) listener.data(body);
      return;
    }
    if (status === statuses.continue) {
      this.#leave(serial);
    } else {
      this.#channels.delete(serial);
    }
    const reason = status === statuses.error ? readRefusal(this.where, new XdrReader(body)) : undefined;
    if (!isLeft) listener.closed(reason);
  }

  #writeTo(serial: number, bytes: Buffer): Promise<void> {
    const channel = this.#channels.get(serial);
    if (this.#ended || !channel || channel.isLeft) return Promise.reject(this.#ended ?? this.#lost('has closed it'));
    const header = { program: programs.remote, procedure: channel.procedure, type: messageTypes.stream, serial };
    const message = encodeMessage({ ...header, status: statuses.continue }, bytes);
    return new Promise((resolve, reject) => {
      this.#stream.write(message, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** The daemon confirms it; until then more may come. */
  #leave(serial: number): void {
    const channel = this.#channels.get(serial);
    if (!channel || channel.isLeft || this.#ended) return;
    channel.isLeft = true;
    this.#send(programs.remote, channel.procedure, messageTypes.stream, serial);
  }

  /** An empty piece is the end, which the daemon wants confirmed. */
  #collect({ procedure, stream }: Call, serial: number, piece: Buffer): void {
    if (piece.length === 0) return this.#send(programs.remote, procedure, messageTypes.stream, serial);
    stream!.held += piece.length;
    if (stream!.held > stream!.most) throw garbled(`a stream of more than ${stream!.most} bytes`);
    stream!.pieces.push(Buffer.from(piece));
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
    clearTimeout(this.#resting);
    this.#channels.clear();
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
