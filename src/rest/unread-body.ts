import type { ServerResponse } from 'node:http';
import { waitsToGoOn } from './incoming-body.ts';

const maximumDropped = 67_108_864;
/** How long a client that waits to be told to go on, and is answered instead, may take to leave. */
const patience = 2_000;

/**
 * Sends a reply to a client that is still sending its body. A connection closed with unread data takes the reply with it, so
 * what comes is read and dropped, within bounds, before the exchange ends.
 */
export function sendBeforeBodyEnds(response: ServerResponse, bytes: Buffer | string): void {
  const { req: request } = response;
  response.write(bytes);
  let dropped = 0;
  request.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > maximumDropped) request.destroy();
  });
  request.once('end', () => response.end());
  request.resume();
  if (!waitsToGoOn(request)) return;
  const timer = setTimeout(() => response.end(), patience).unref();
  response.once('close', () => clearTimeout(timer));
}
