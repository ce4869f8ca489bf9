import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { slice } from './paced-text.ts';

/** Sends a body in pieces, as fast as the client takes it. Encryption takes time too, so others get their turn in between. */
export async function sendLongBody(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  pieces: readonly Buffer[],
): Promise<void> {
  if (response.destroyed) return;
  headers['Content-Length'] = pieces.reduce((sum, piece) => sum + piece.length, 0);
  response.writeHead(status, headers);
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

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
