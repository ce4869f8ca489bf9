import type { ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { checkRequest, type ConsoleMessage, type ViewerSink } from '../../consoles/index.ts';
import { upgradeOf } from './upgrades.ts';

/** Bytes of one message of a client. */
const longestMessage = 65_536;
/** Milliseconds between two looks whether the client is still there. */
const pingInterval = 30_000;
/** Milliseconds that a client has to take the last that it is sent. */
const lastWords = 5_000;
/** Messages in JSON that a client may send in a second. */
const mostRequests = 20;
/** Bytes that may wait for a client that sends pings. */
const mostUnsent = 65_536;

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  // A few bytes could become a great many.
  perMessageDeflate: false,
  maxPayload: longestMessage,
  autoPong: false,
});

/** Turns the connection of the response into a WebSocket. */
export function becomeWebSocket(
  response: ServerResponse,
  headers: Readonly<Record<string, string | number>>,
): ViewerSink {
  const { req: request } = response;
  const { socket, head } = upgradeOf(request);
  response.detachSocket(response.socket!);
  response.statusCode = 101;
  let made: WebSocket | undefined;
  const addHeaders = (lines: string[]): void => {
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  };
  server.once('headers', addHeaders);
  try {
    server.handleUpgrade(request, socket, head, (connection) => (made = connection));
  } finally {
    server.off('headers', addHeaders);
  }
  return sinkOf(made, () => socket.destroy());
}

/** The client may have left before; then it hears nothing, and is gone at once. */
function sinkOf(connection: WebSocket | undefined, destroy: () => void): ViewerSink {
  if (!connection) {
    destroy();
    const nothing = (): void => {};
    return {
      send: nothing,
      pause: nothing,
      resume: nothing,
      onTyped: nothing,
      onRequest: nothing,
      onClose: queueMicrotask,
      end: nothing,
    };
  }
  const end = (reason: string, code = 1000): void => {
    if (connection.readyState !== connection.OPEN) return;
    // What was not read until now is not read at all.
    connection.removeAllListeners('message');
    connection.send(JSON.stringify({ type: 'end', message: reason } satisfies ConsoleMessage));
    connection.close(code);
    setTimeout(() => connection.terminate(), lastWords).unref();
  };
  keepAlive(connection);
  // Of broken frames the connection closes by itself.
  connection.on('error', () => connection.terminate());
  return {
    send: (data, taken) => connection.send(data, { binary: typeof data !== 'string' }, taken),
    pause: () => connection.pause(),
    resume: () => connection.resume(),
    onTyped: (heard) => void connection.on('message', (data, isBinary) => isBinary && heard(data as Buffer)),
    onRequest(heard) {
      const allowed = requestMeter();
      connection.on('message', (data, isBinary) => {
        if (isBinary) return;
        const request = parsed(data as Buffer);
        if (!allowed()) return end('You send too many messages.', policyViolation);
        if (!checkRequest.is(request))
          return end(
            'A message is not one that consoles know; the manual lists them in its chapter on consoles.',
            invalidData,
          );
        heard(request);
      });
    },
    onClose: (heard) => void connection.once('close', heard),
    end,
  };
}

const invalidData = 1007;
const policyViolation = 1008;

function keepAlive(connection: WebSocket): void {
  let isAlive = true;
  connection.on('pong', () => (isAlive = true));
  connection.on('ping', (data) => {
    if (connection.bufferedAmount < mostUnsent) connection.pong(data);
  });
  const timer = setInterval(() => {
    // While the machine takes no more of what was typed, nothing of the client is read.
    if (connection.isPaused) return;
    if (!isAlive) connection.terminate();
    isAlive = false;
    connection.ping();
  }, pingInterval).unref();
  connection.once('close', () => clearInterval(timer));
}

function requestMeter(): () => boolean {
  let [second, requests] = [0, 0];
  return () => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) [second, requests] = [now, 0];
    return ++requests <= mostRequests;
  };
}

function parsed(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString('utf8'));
  } catch {
    return undefined;
  }
}
