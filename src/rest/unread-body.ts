import type { ServerResponse } from 'node:http';

const maximumDropped = 67_108_864;

/**
 * Sends a reply to a client that is still sending its body. A connection closed with unread data takes the reply with it, so
 * what comes is read and dropped, within bounds, before the exchange ends.
 */
export function sendBeforeBodyEnds(response: ServerResponse, bytes: Buffer): void {
  const { req: request } = response;
  response.write(bytes);
  let dropped = 0;
  request.removeAllListeners('data');
  request.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > maximumDropped) request.destroy();
  });
  request.once('end', () => response.end());
  request.resume();
}
