import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { Fault } from '../../core/errors.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';

/** Bounds how many bytes are held at a time, by one holder and by all together. */
class ByteBudget {
  readonly #all: number;
  readonly #each: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(all: number, each: number) {
    this.#all = all;
    this.#each = each;
  }

  hold(holder: string): Hold {
    return new Hold((bytes) => this.#take(holder, bytes));
  }

  /** Gives back what is negative. False, and nothing happens, if the budget is spent. */
  #take(holder: string, bytes: number): boolean {
    const held = (this.#held.get(holder) ?? 0) + bytes;
    if (bytes > 0 && (held > this.#each || this.#total + bytes > this.#all)) return false;
    this.#total += bytes;
    if (held === 0) this.#held.delete(holder);
    else this.#held.set(holder, held);
    return true;
  }
}

/** What one piece of work holds; it is given back as a whole. */
export class Hold {
  readonly #take: (bytes: number) => boolean;
  #bytes = 0;

  constructor(take: (bytes: number) => boolean) {
    this.#take = take;
  }

  /** False, and nothing more is held, if the budget is spent. */
  add(bytes: number): boolean {
    if (!this.#take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  release(): void {
    this.#take(-this.#bytes);
    this.#bytes = 0;
  }
}

const mebibyte = 1_048_576;

/** Memory for bodies of requests, from their first byte until they are answered. */
export class BodyBudgets {
  /** Bytes of callers who have not shown yet who they are, by network. */
  readonly strangers = new ByteBudget(16 * mebibyte, 4 * mebibyte);
  /** What bodies take up, about, once they are parsed, by user. The largest body fits. */
  readonly users = new ByteBudget(192 * mebibyte, 160 * mebibyte);
}

/** What a parsed value takes up beside its text, about. */
const perValue = 64;

export const weightOf = (bytes: number, values: number): number => bytes + perValue * values;

const maximumBody = 1_048_576;
const maximumBulkBody = 33_554_432;

export const bodyLimit = ({ bulk, archive }: Pick<Endpoint, 'bulk' | 'archive'> = {}): number =>
  // Archives are never held in memory; whoever receives them bounds what they hold.
  archive ? Number.MAX_SAFE_INTEGER : bulk ? maximumBulkBody : maximumBody;

export const bodyTooLarge = (limit: number): Fault => new Fault('too-large', `The body is larger than ${limit} bytes.`);

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/** Requests whose client sends the body only when it is asked to go on. */
const waiting = new WeakSet<IncomingMessage>();

/** The client hears when the body is wanted, which may be never. */
export function continueWhenWanted(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    server.emit('request', request, response);
  });
}

/** Connections on which an archive is being received, which may take longer than other requests as long as it goes on. */
const archiveSenders = new WeakSet<object>();

export const isSendingArchive = (socket: object): boolean => archiveSenders.has(socket);

/** Receives an archive. A client that sends nothing of it for so many milliseconds is left. */
export async function receiveArchive<T>(
  request: IncomingMessage,
  response: ServerResponse,
  timeout: number,
  receive: (body: Pick<IncomingBody, 'read'>) => Promise<T>,
): Promise<T> {
  const { socket } = request;
  const body = new IncomingBody(request, response, Number.MAX_SAFE_INTEGER);
  const stalled = setTimeout(() => request.destroy(), timeout).unref();
  archiveSenders.add(socket);
  try {
    return await receive({
      read: (take) =>
        body.read((chunk) => {
          stalled.refresh();
          return take(chunk);
        }),
    });
  } finally {
    clearTimeout(stalled);
    archiveSenders.delete(socket);
  }
}

const waitsToGoOn = (request: IncomingMessage): boolean => waiting.has(request);

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

const maximumDropped = 67_108_864;
/** How long a client that waits to be asked to go on, and is answered instead, may take to leave. */
const leaveTimeout = 2_000;
/** All clients together get rid of so many bytes, and then wait so many milliseconds: 32 MiB a second keep the memory quiet. */
const droppedAtOnce = 65_536;
const dropPause = 2;

/** Those whose rest is being dropped. */
let dropping = 0;

/**
 * Sends a reply to a client that is still sending its body. A connection closed with unread data takes the reply with it, so
 * what comes is read and dropped, within bounds, before the exchange ends.
 */
export function sendBeforeBodyEnds(response: ServerResponse, bytes: Buffer | string): void {
  const { req: request } = response;
  response.write(bytes);
  request.once('end', () => response.end());
  dropRest(request);
  if (!waitsToGoOn(request)) return;
  const timer = setTimeout(() => response.end(), leaveTimeout).unref();
  response.once('close', () => clearTimeout(timer));
}

function dropRest(request: IncomingMessage): void {
  let dropped = 0;
  let pauseAt = droppedAtOnce;
  request.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > maximumDropped) request.destroy();
    if (dropped < pauseAt) return;
    pauseAt = dropped + droppedAtOnce;
    request.pause();
    setTimeout(() => request.resume(), dropping * dropPause).unref();
  });
  dropping++;
  request.once('close', () => dropping--);
  request.resume();
}
