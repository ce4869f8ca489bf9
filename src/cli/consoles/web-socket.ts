import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { Refused } from '../errors.ts';
import { noneReached, notReached } from '../not-reached.ts';
import type { Place } from '../places.ts';
import { parsed } from '../replies.ts';
import { socketOpener } from '../sockets.ts';
import type { WireRequest } from '../wire.ts';

const longestRefusal = 1_000_000;
/** A server sends no longer message. */
const longestMessage = 1 << 20;

/** Opens a WebSocket, which waits to be resumed, at the first server that takes it. */
export async function openWebSocket(
  places: readonly Place[],
  requestFor: (place: Place) => WireRequest,
): Promise<WebSocket> {
  const failures: (readonly [Place, Error])[] = [];
  let refusal: Refused | undefined;
  for (const place of places) {
    try {
      return await connect(place, requestFor(place));
    } catch (error) {
      if (error instanceof Refused && (error.status !== 503 || places.length === 1)) throw error;
      if (error instanceof Refused) refusal = error;
      failures.push([place, error as Error]);
    }
  }
  if (refusal) throw refusal;
  throw failures.length === 1 ? notReached(...failures[0]!) : noneReached(failures);
}

async function connect(place: Place, { path, headers }: WireRequest): Promise<WebSocket> {
  const open = await socketOpener(place);
  const socket = new WebSocket(`ws://localhost${path}`, {
    createConnection: open,
    perMessageDeflate: false,
    maxPayload: longestMessage,
    handshakeTimeout: 30_000,
    headers: { ...headers, Host: place.socket === undefined ? place.shown : 'localhost' },
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      socket.pause();
      resolve(socket);
    });
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      refusalOf(response).then(reject, reject);
    });
  });
}

async function refusalOf(response: IncomingMessage): Promise<Refused> {
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > longestRefusal) break;
  }
  const isJson = response.headers['content-type']?.includes('json');
  return new Refused(response.statusCode ?? 0, (isJson ? parsed(text) : undefined) ?? {});
}
