import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { errorKinds, Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { slice } from './paced-text.ts';
import { type Root, sentencesAt, statusAt } from './roots.ts';
import { sendBeforeBodyEnds } from './unread-body.ts';

export const jsonType = 'application/json; charset=utf-8';

/** Sends a body that is complete: a short one at once, a long one as fast as the client takes it. */
export function sendPieces(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  pieces: readonly Buffer[],
): Promise<void> | undefined {
  if (response.destroyed) return undefined;
  let length = 0;
  for (const piece of pieces) length += piece.length;
  headers['Content-Length'] = length;
  response.writeHead(status, headers);
  if (pieces.length > 1) return sendInTurns(response, pieces);
  response.end(pieces[0]);
  return undefined;
}

/** Encryption takes time too, so others get their turn while a long body is sent. */
async function sendInTurns(response: ServerResponse, pieces: readonly Buffer[]): Promise<void> {
  let began = performance.now();
  for (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
    if (performance.now() - began > slice) {
      await setImmediate();
      began = performance.now();
    }
  }
  response.end();
}

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });

/** What went wrong, as the client is told; everything unforeseen is a bug of ours and only the log says more. */
export function faultOf(error: unknown, log: Logger, id: string): Fault {
  if (error instanceof Fault) {
    if (error.kind === 'unavailable' && error.cause !== undefined)
      log.error({ request: id, err: error.cause }, error.message);
    return error;
  }
  log.error({ request: id, err: error }, 'a request failed unexpectedly');
  return new Fault('unavailable', `Something went wrong inside muster; its log says more under request ${id}.`, {
    retryAfter: 5,
  });
}

export function sendFault(
  response: ServerResponse,
  root: Root,
  fault: Fault,
  headers: Record<string, string | number>,
): void {
  if (fault.retryAfter !== undefined) headers['Retry-After'] = fault.retryAfter;
  headers['Content-Type'] = jsonType;
  const body = { error: sentencesAt(root, fault), errorcode: errorKinds[fault.kind].code };
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
  const status = statusAt(root, fault.kind);
  if (response.req.complete || response.destroyed) sendPieces(response, status, headers, [bytes]);
  else {
    response.writeHead(status, { ...headers, 'Content-Length': bytes.length });
    sendBeforeBodyEnds(response, bytes);
  }
}
