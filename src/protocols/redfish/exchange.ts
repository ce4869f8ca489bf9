import { Readable } from 'node:stream';
import type { Client, Dispatcher } from 'undici';
import { type Abortable, unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Fault, Unreachable } from '../../core/errors.ts';
import { abortFault } from './abort.ts';
import { secondsSince } from './faults.ts';

/** Of a reply that need not be asked for: most are smaller by far. */
const usualSize = 256 * 1024;

/** Memory for replies that are being received and are larger than usual, for all services together. */
export class ReplyMemory {
  readonly #size: number;
  #reserved = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** What a reply that has grown reserves now, given what it had before; undefined if there is no room. */
  grow(received: number, before: number): number | undefined {
    const reserved = Math.max(0, received - usualSize);
    if (this.#reserved + reserved - before > this.#size) return undefined;
    this.#reserved += reserved - before;
    return reserved;
  }

  release(reserved: number): void {
    this.#reserved -= reserved;
  }
}

export interface Message {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body?: string | Upload | undefined;
  /** The answer may be as large as a collection. */
  readonly large?: boolean | undefined;
}

/** A body that is read piece by piece while it is sent; never the whole of it is in memory. */
export interface Upload {
  /** Bytes of all pieces together: many BMCs take nothing whose length they do not hear first. */
  readonly size: number;
  pieces(): AsyncIterable<Uint8Array>;
  /** Milliseconds that the service may take nothing of it, and, after its last byte, to answer. */
  readonly stallTimeout: number;
  readonly answerTimeout: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

export interface ExchangeLimits {
  /** From sending a request to the last byte of its answer, in milliseconds. */
  readonly requestTimeout: number;
  /** Of a body, in bytes. */
  readonly responseSize: number;
  /** The same where a collection is asked for, which may show all of its members. */
  readonly collectionSize: number;
  /** Where all exchanges of a client keep what they receive. */
  readonly memory: ReplyMemory;
}

/** Answers before the final one (1xx). */
const mostInformational = 8;

/** One request and its answer, with nothing between it and the dispatcher: this is what polling thousands of services costs. */
export function exchange(
  client: Client,
  message: Message,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Reply> {
  if (signal.aborted) return Promise.reject(abortFault(signal));
  return new Promise((resolve, reject) => {
    const going = new Exchange(message, limits, signal, resolve, reject);
    const { body = null } = message;
    client.dispatch(
      {
        path: message.path,
        method: message.method,
        headers: message.headers as string[],
        body: typeof body === 'object' && body !== null ? Readable.from(going.sent(body), { objectMode: false }) : body,
        // The timer of the exchange covers both.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      going,
    );
  });
}

class Exchange implements Dispatcher.DispatchHandler, Abortable {
  readonly #message: Message;
  readonly #limits: ExchangeLimits;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (error: Error) => void;
  readonly #signal: AbortSignal;
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: Fault | undefined;
  #isOver = false;
  #informational = 0;
  #status = 0;
  #headers: Reply['headers'] = {};
  readonly #body = new Received();
  #reserved = 0;

  constructor(
    message: Message,
    limits: ExchangeLimits,
    signal: AbortSignal,
    resolve: (reply: Reply) => void,
    reject: (error: Error) => void,
  ) {
    this.#message = message;
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    watchAbort(signal, this);
  }

  aborted(): void {
    this.#fail(abortFault(this.#signal));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) {
      controller.abort(this.#failure);
      return;
    }
    this.#controller = controller;
    const { body } = this.#message;
    this.#wait(typeof body === 'object' ? body.stallTimeout : this.#limits.requestTimeout);
  }

  /** Of an upload, piece by piece: each that the connection takes gives the service time for the next. */
  async *sent(upload: Upload): AsyncGenerator<Uint8Array> {
    for await (const piece of upload.pieces()) {
      this.#wait(upload.stallTimeout);
      yield piece;
    }
    this.#wait(upload.answerTimeout);
  }

  #wait(milliseconds: number): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    const began = performance.now();
    this.#timer = setTimeout(() => {
      this.#fail(new Unreachable(`its BMC did not answer within ${secondsSince(began)} s.`));
    }, milliseconds);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    this.#headers = headers;
    // The array has been in the parser since the last answer, so that it is old: what it holds would stay until a full collection.
    if (Array.isArray(controller.rawHeaders)) controller.rawHeaders.length = 0;
    if (status < 200 && ++this.#informational > mostInformational) {
      this.#fail(new Fault('garbled', `its BMC answers ${this.#what} with ${status} again and again.`));
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { responseSize, collectionSize, memory } = this.#limits;
    const most = this.#message.large ? collectionSize : responseSize;
    const size = this.#body.length + chunk.length;
    if (size > most) {
      this.#fail(new Fault('garbled', `its BMC answered ${this.#what} with more than ${most} bytes.`));
      return;
    }
    const reserved = memory.grow(size, this.#reserved);
    if (reserved === undefined) {
      this.#fail(new Fault('unavailable', 'too many BMCs send large answers at once; try again later.'));
      return;
    }
    this.#reserved = reserved;
    this.#body.add(chunk);
  }

  onResponseEnd(): void {
    this.#end();
    this.#resolve({ status: this.#status, headers: this.#headers, bytes: this.#body.take() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end();
    this.#reject(this.#failure ?? error);
  }

  get #what(): string {
    return `${this.#message.method} ${this.#message.path}`;
  }

  /** Callers need not wait until the connection is gone. */
  #fail(fault: Fault): void {
    this.#end();
    this.#body.take();
    this.#failure ??= fault;
    this.#reject(fault);
    this.#controller?.abort(fault);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    unwatchAbort(this.#signal, this);
    this.#limits.memory.release(this.#reserved);
    this.#reserved = 0;
  }
}

const firstSize = 64 * 1024;
const nothing = Buffer.alloc(0);

/** Bytes that come in pieces. Most come in one; kept apart, a million pieces of one byte would take a hundred times their size. */
class Received {
  #bytes: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length) this.#grow(Math.max(firstSize, 2 * length));
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  take(): Buffer {
    // What came in one piece is taken as it is: a view of it would cost as much as the rest of this.
    const bytes = this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return bytes;
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafe(size);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
