import type { Client, Dispatcher } from 'undici';
import { type Abortable, unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Fault, Unreachable } from '../../core/errors.ts';
import { abortFault } from './abort.ts';

/** An answer that goes on: events as they come (DSP0266 "Server-sent events"). */
export interface Followed {
  /** Resolves when nothing comes any more, with what ended it; undefined: the service has closed it. */
  readonly ended: Promise<Error | undefined>;
}

export interface StreamRequest {
  readonly path: string;
  readonly headers: readonly string[];
  /** Milliseconds until it must have begun. */
  readonly timeout: number;
  /** Takes the data of one event. What it throws ends the stream. */
  take(data: Buffer): void;
}

/** The service answers with another status than 200. */
export class NotStreamed extends Fault {
  readonly status: number;

  constructor(status: number) {
    super('invalid', `its BMC answered ${status} to the request for its events.`);
    this.status = status;
  }
}

/** Of one event, in bytes. */
const mostOfEvent = 256 * 1024;
/** Bytes that a stream may bring in a window of so many milliseconds: hundreds of events a second. */
const mostInWindow = 4 * 1024 * 1024;
const flowWindow = 10_000;

/** Asks for a stream over a connection of its own. Resolves when it has begun. */
export function openStream(client: Client, request: StreamRequest, signal: AbortSignal): Promise<Followed> {
  if (signal.aborted) return Promise.reject(abortFault(signal));
  return new Promise((resolve, reject) => {
    client.dispatch(
      { path: request.path, method: 'GET', headers: request.headers as string[], headersTimeout: 0, bodyTimeout: 0 },
      new Stream(request, signal, resolve, reject),
    );
  });
}

class Stream implements Dispatcher.DispatchHandler, Abortable {
  readonly #request: StreamRequest;
  readonly #signal: AbortSignal;
  readonly #begun: (followed: Followed) => void;
  readonly #failed: (error: Error) => void;
  readonly #lines = new EventLines();
  #timer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #ended: ((error: Error | undefined) => void) | undefined;
  #failure: Error | undefined;
  #windowSince = 0;
  #inWindow = 0;

  constructor(
    request: StreamRequest,
    signal: AbortSignal,
    begun: (followed: Followed) => void,
    failed: (error: Error) => void,
  ) {
    this.#request = request;
    this.#signal = signal;
    this.#begun = begun;
    this.#failed = failed;
    watchAbort(signal, this);
  }

  aborted(): void {
    this.#fail(abortFault(this.#signal));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) {
      controller.abort(this.#failure);
      return;
    }
    this.#timer = setTimeout(
      () => this.#fail(new Unreachable('its BMC did not begin to send its events in time.')),
      this.#request.timeout,
    );
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    clearTimeout(this.#timer);
    if (status !== 200) return this.#fail(new NotStreamed(status));
    if (!String(headers['content-type'] ?? '').startsWith('text/event-stream'))
      return this.#fail(new Fault('garbled', 'its BMC sends something else where its events should be.'));
    this.#begun({ ended: new Promise((resolve) => (this.#ended = resolve)) });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure) return;
    const now = performance.now();
    if (now - this.#windowSince > flowWindow) [this.#windowSince, this.#inWindow] = [now, 0];
    this.#inWindow += chunk.length;
    try {
      if (this.#inWindow > mostInWindow) throw new Fault('garbled', 'its BMC sends more events than anybody can read.');
      for (const data of this.#lines.add(chunk)) this.#request.take(data);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  onResponseEnd(): void {
    this.#end(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(this.#failure ?? error);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#end(error);
    this.#controller?.abort(error);
  }

  #end(error: Error | undefined): void {
    clearTimeout(this.#timer);
    unwatchAbort(this.#signal, this);
    if (this.#ended) this.#ended(error);
    else this.#failed(error ?? new Fault('garbled', 'its BMC ended the stream of its events before it began.'));
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** The data of events, from pieces of a stream. */
export class EventLines {
  #pieces: Buffer[] = [];
  #data: Buffer[] = [];
  #size = 0;

  *add(chunk: Buffer): Generator<Buffer> {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const line = this.#line();
      if (line.length === 0) {
        const data = Buffer.concat(this.#data);
        this.#data = [];
        this.#size = 0;
        if (data.length > 0) yield data;
      } else if (line.subarray(0, 5).equals(dataField)) {
        this.#data.push(line.subarray(line[5] === 0x20 ? 6 : 5));
      }
    }
    // The chunk is the parser's; what is kept of it must not keep all of it.
    this.#keep(Buffer.from(chunk.subarray(from)));
  }

  #keep(piece: Buffer): void {
    this.#size += piece.length + 1;
    if (this.#size > mostOfEvent)
      throw new Fault('garbled', `its BMC sends an event of more than ${mostOfEvent} bytes.`);
    if (piece.length > 0) this.#pieces.push(piece);
  }

  #line(): Buffer {
    const line = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    this.#pieces = [];
    return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
  }
}

const dataField = Buffer.from('data:');
