import type { IncomingMessage, ServerResponse } from 'node:http';
import { waitsToGoOn } from './incoming-body.ts';

const maximumDropped = 67_108_864;
/** How long a client that waits to be told to go on, and is answered instead, may take to leave. */
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
