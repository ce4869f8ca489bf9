import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { Fault } from '../core/errors.ts';

const maximumBody = 1_048_576;
const maximumBulkBody = 33_554_432;

export const bodyLimit = (bulk = false): number => (bulk ? maximumBulkBody : maximumBody);

export const bodyTooLarge = (limit: number): Fault => new Fault('too-large', `The body is larger than ${limit} bytes.`);

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/** Requests whose client sends the body only when it is told to go on. */
const waiting = new WeakSet<IncomingMessage>();

/** The client is told when the body is wanted, which may be never. */
export function continueWhenWanted(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    server.emit('request', request, response);
  });
}

export const waitsToGoOn = (request: IncomingMessage): boolean => waiting.has(request);

/** A body that is read chunk by chunk. What nobody takes stays with the client, but for what the connection buffers. */
export class IncomingBody {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #limit: number;
  #size = 0;

  constructor(request: IncomingMessage, response: ServerResponse, limit: number) {
    this.#request = request;
    this.#response = response;
    this.#limit = limit;
  }

  /** Bytes, as the client says; 0 if it does not. */
  get announced(): number {
    return Number(this.#request.headers['content-length'] ?? 0);
  }

  /** Hands over chunks as long as `take` returns true; the next call goes on. Returns whether that was all. */
  read(take: (chunk: Buffer) => boolean): Promise<boolean> {
    const request = this.#request;
    if (waiting.delete(request)) this.#response.writeContinue();
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        request.pause();
        request.off('data', hand).off('end', end).off('error', cut).off('close', cut);
      };
      const hand = (chunk: Buffer): void => {
        try {
          this.#size += chunk.length;
          if (this.#size > this.#limit) throw bodyTooLarge(this.#limit);
          if (take(chunk)) return;
          resolve(false);
        } catch (error) {
          reject(error);
        }
        stop();
      };
      let isWhole = false;
      const end = (): void => {
        isWhole = true;
        resolve(true);
      };
      // Also of a client that has sent all of it and left: what was not taken by then is gone. Every request is closed in the end.
      const cut = (): void => {
        if (!isWhole) reject(new Fault('malformed', 'The request ended before its body was complete.'));
      };
      if (request.readableEnded) return end();
      if (request.destroyed) return cut();
      request.on('data', hand).on('end', end).on('error', cut).on('close', cut).resume();
    });
  }
}
