import type { ServerResponse } from 'node:http';
import { errorKinds, Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { type Root, sentencesAt, statusAt } from './roots.ts';

export const jsonType = 'application/json; charset=utf-8';

/** Sends a body that is complete, in as few writes as the pieces allow. */
export function sendPieces(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  pieces: readonly Buffer[],
): void {
  if (response.destroyed) return;
  let length = 0;
  for (const piece of pieces) length += piece.length;
  headers['Content-Length'] = length;
  response.writeHead(status, headers);
  if (pieces.length <= 1) {
    response.end(pieces[0]);
    return;
  }
  response.cork();
  for (const piece of pieces) response.write(piece);
  response.end();
  response.uncork();
}

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
  sendPieces(response, statusAt(root, fault.kind), headers, [Buffer.from(`${JSON.stringify(body)}\n`)]);
}
