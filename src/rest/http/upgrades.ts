import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Fault } from '../../core/errors.ts';
import { GuardedResponse } from './guarded-response.ts';

/** A connection that is to become a WebSocket, and what has come of that already. */
interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();
/** Connections that Node no longer counts as its own, by server: they end with it. */
const taken = new WeakMap<Server, Set<Duplex>>();
/** Milliseconds that a client has to close after it was refused. */
const refusedFor = 5_000;

/** Everything else that asks for an upgrade is answered as if it did not. */
export const shouldUpgradeCallback = ({ method, url = '', headers: { upgrade = '' } }: IncomingMessage): boolean =>
  method === 'GET' && upgrade.toLowerCase() === 'websocket' && /\/console(\?|$)/.test(url);

/** Such a request goes the way of all others, and its reply is one like all others unless it is let in. */
export function takeUpgrades(server: Server): void {
  const sockets = new Set<Duplex>();
  taken.set(server, sockets);
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    // A request before it on the same connection is not answered yet.
    if (Reflect.get(socket, '_httpMessage')) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    upgrades.set(request, { socket, head });
    const response = new GuardedResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Parameters<GuardedResponse['assignSocket']>[0]);
    // Nothing else reads what a refused client still sends, or notices that it stays.
    response.once('finish', () => {
      socket.end();
      socket.resume();
      const timer = setTimeout(() => socket.destroy(), refusedFor).unref();
      socket.once('close', () => clearTimeout(timer));
    });
    server.emit('request', request, response);
  });
}

/** Ends the connections of a server that were taken, whatever became of them. */
export function closeUpgrades(server: Server): void {
  for (const socket of taken.get(server) ?? []) socket.destroy();
}

export const isUpgrade = (request: IncomingMessage): boolean => upgrades.has(request);
export const upgradeOf = (request: IncomingMessage): Upgrade => upgrades.get(request)!;

const key = /^[+/0-9A-Za-z]{22}==$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names of subprotocols, each once: nobody else answers a header that is none as muster does. */
function areNames(header: string): boolean {
  const names = header.split(',').map((name) => name.trim());
  return names.every((name) => token.test(name)) && new Set(names).size === names.length;
}

/** Whether an origin is this server as the client calls it. Its scheme may differ: a proxy may have taken TLS away. */
export function isOwnOrigin(origin: string, host: string): boolean {
  const from = URL.parse(origin);
  return from !== null && from.host !== '' && from.host === URL.parse(`${from.protocol}//${host}`)?.host;
}

/** A page of another site must not open a console with what the browser knows. */
export function checkUpgrade(request: IncomingMessage): void {
  if (!isUpgrade(request)) return;
  const { origin, host = '', 'sec-websocket-key': given = '', 'sec-websocket-version': version } = request.headers;
  if (version !== '13' || !key.test(given))
    throw new Fault('malformed', 'The request is no WebSocket handshake of version 13 (RFC 6455).');
  const wanted = request.headers['sec-websocket-protocol'];
  if (wanted !== undefined && !areNames(wanted))
    throw new Fault('malformed', 'The header Sec-WebSocket-Protocol is no list of names.');
  if (origin === undefined) return;
  if (!isOwnOrigin(origin, host))
    throw new Fault('denied', 'A page of another site may not open consoles here: the Origin is not this server.');
}
