import type { ServerResponse } from 'node:http';
import type { EventStream } from '../commands/command.ts';

/** Milliseconds that a client has to take the last it is told. */
const lastWords = 5_000;

/** Tells a client what happens until it leaves or is left. */
export function sendEvents(
  response: ServerResponse,
  headers: Record<string, string | number>,
  { listen }: EventStream,
): Promise<void> | undefined {
  // Proxies must not gather what is meant for now.
  const all = { ...headers, 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };
  if (response.req.method === 'HEAD') {
    response.writeHead(200, all);
    response.end();
    return undefined;
  }
  return listen(() => {
    response.writeHead(200, all);
    return {
      write: (bytes) => response.destroyed || response.write(bytes),
      onDrain: (callback) => response.on('drain', callback),
      onClose(callback) {
        if (response.destroyed) queueMicrotask(callback);
        else response.once('close', callback);
      },
      end(bytes) {
        response.end(bytes);
        setTimeout(() => response.destroy(), lastWords).unref();
      },
    };
  });
}
