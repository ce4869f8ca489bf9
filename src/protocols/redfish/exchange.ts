import type { Client, Dispatcher } from 'undici';
import { Fault, Unreachable } from '../../core/errors.ts';
import { abortFault, onAbort } from './abort.ts';

export interface Message {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body?: string | undefined;
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
}

/** One request and its answer, with nothing between it and the dispatcher: this is what polling thousands of services costs. */
export function exchange(
  client: Client,
  message: Message,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Reply> {
  if (signal.aborted) return Promise.reject(abortFault(signal));
  return new Promise((resolve, reject) => {
    client.dispatch(
      {
        path: message.path,
        method: message.method,
        headers: message.headers as string[],
        body: message.body ?? null,
        // The timer of the exchange covers both.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      new Exchange(limits, signal, resolve, reject),
    );
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (error: Error) => void;
  readonly #ignoreAbort: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: Fault | undefined;
  #status = 0;
  #headers: Reply['headers'] = {};
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    limits: ExchangeLimits,
    signal: AbortSignal,
    resolve: (reply: Reply) => void,
    reject: (error: Error) => void,
  ) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#ignoreAbort = onAbort(signal, () => this.#fail(abortFault(signal)));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) {
      controller.abort(this.#failure);
      return;
    }
    this.#controller = controller;
    const { requestTimeout } = this.#limits;
    this.#timer = setTimeout(() => {
      this.#fail(new Unreachable(`its service processor did not answer within ${requestTimeout / 1_000} s.`));
    }, requestTimeout);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#limits.responseSize) {
      this.#fail(
        new Fault('garbled', `its service processor sent an answer of more than ${this.#limits.responseSize} bytes.`),
      );
    } else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end();
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, bytes });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end();
    this.#reject(this.#failure ?? error);
  }

  /** Callers need not wait until the connection is gone. */
  #fail(fault: Fault): void {
    this.#end();
    this.#failure ??= fault;
    this.#reject(fault);
    this.#controller?.abort(fault);
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#ignoreAbort();
  }
}
