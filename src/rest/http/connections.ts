import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { BlockList, isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { canonicalAddress, networkOf } from '../../access/addresses.ts';
import { parseNetwork } from '../../core/address-guard.ts';
import { Fault } from '../../core/errors.ts';
import type { GuardedResponse } from './guarded-response.ts';

/** The addresses in any of the networks. */
export function membership(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const { address, bits, family } = parseNetwork(network)!;
    list.addSubnet(address, bits, family);
  }
  return (given) => {
    const address = canonicalAddress(given);
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
}

const inLoopback = membership(['127.0.0.0/8', '::1/128']);

export const isLoopback = (host: string): boolean => host === 'localhost' || inLoopback(host);

/** Finds the address of a request's client: what the last proxy says that is none itself. */
export function clientBehind(proxies: readonly string[]): (request: IncomingMessage) => string {
  const isProxy = membership(proxies);
  // A server that listens on [::] alone sees IPv4 clients inside IPv6.
  const peer = ({ socket }: IncomingMessage): string => (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
  if (proxies.length === 0) return peer;
  return (request) => {
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
    let client = peer(request);
    for (const each of forwarded.reverse()) {
      if (!isProxy(client)) break;
      client = each.trim() || client;
    }
    return client;
  };
}

/** Bounds how many requests of one user run at a time. */
export class Concurrency {
  readonly #limit: number;
  readonly #running = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns what to call when the request is done. */
  enter(user: string): () => void {
    const running = this.#running.get(user) ?? 0;
    if (running >= this.#limit) {
      throw new Fault(
        'unavailable',
        `User "${user}" already has ${running} requests running; try again when some are done.`,
        { retryAfter: 1 },
      );
    }
    this.#running.set(user, running + 1);
    // Users are accounts, so there are few: their entries stay.
    return () => this.#running.set(user, this.#running.get(user)! - 1);
  }
}

/** Connections of all clients together, unless one address alone may have more than half of it. Each takes some 60 KiB. */
const usualTotal = 4_096;
/** Bytes of requests of unknown clients whose headers are not complete. */
const mostBegun = 16_777_216;
/** Milliseconds between two looks at them. */
const interval = 1_000;

interface Network {
  readonly name: string;
  open: number;
}

interface Connection {
  readonly ends: string;
  readonly network: Network;
  /** As it came from the network; the other one is what is inside it, once both sides have agreed on keys. */
  readonly raw: Socket;
  inside: Socket | undefined;
  /** The last one, until it is sent. */
  response: ServerResponse | undefined;
  /** Bytes that had come when it was asked for. */
  readBefore: number;
  /** It has sent right credentials. */
  isAuthenticated: boolean;
}

/**
 * Bounds the connections of one address and of all together. When all are taken, a new one replaces one that does nothing: unknown
 * clients go first, and among them those of the address with most.
 */
export class Connections {
  readonly most: number;
  readonly mostOfOne: number;
  readonly #open = new Map<string, Connection>();
  readonly #networks = new Map<string, Network>();
  readonly #bySocket = new WeakMap<object, Connection>();

  /** Half of the files are left to everything else. */
  constructor(perAddress: number, files: number) {
    this.most = Math.min(Math.max(usualTotal, 2 * perAddress), Math.floor(files / 2));
    this.mostOfOne = Math.min(perAddress, Math.floor(this.most / 2));
  }

  get open(): number {
    return this.#open.size;
  }

  /** Without TLS a connection is what is inside it. */
  watch(server: Server, isPlain = false): void {
    server.on('connection', (socket: Socket) => {
      if (socket.destroyed) return;
      this.#admit(socket);
      if (isPlain) this.#noteInside(socket);
    });
    server.on('secureConnection', (socket: TLSSocket) => this.#noteInside(socket));
    server.on('request', ({ socket }: IncomingMessage, response: GuardedResponse) => {
      const connection = this.#bySocket.get(socket);
      if (!connection) return;
      connection.response = response;
      response.carrier = connection;
      if (!connection.isAuthenticated) connection.readBefore = socket.bytesRead;
    });
    const timer = setInterval(() => this.#boundBegun(), interval).unref();
    server.once('close', () => clearInterval(timer));
  }

  /** The client of this connection has shown who it is. */
  noteKnown(socket: object): void {
    const connection = this.#bySocket.get(socket);
    if (connection) connection.isAuthenticated = true;
  }

  /** The connection that carries this one. */
  rawOf(inside: TLSSocket): Socket | undefined {
    return this.#open.get(endsOf(inside))?.raw;
  }

  #admit(raw: Socket): void {
    const name = networkOf(raw.remoteAddress ?? '');
    const network = this.#networks.get(name) ?? { name, open: 0 };
    if (network.open >= this.mostOfOne || (this.#open.size >= this.most && !this.#makeRoom())) {
      raw.destroy();
      return;
    }
    const ends = endsOf(raw);
    const connection: Connection = {
      ends,
      network,
      raw,
      inside: undefined,
      response: undefined,
      readBefore: 0,
      isAuthenticated: false,
    };
    this.#open.set(ends, connection);
    this.#networks.set(name, network);
    network.open++;
    raw.once('close', () => this.#forget(connection));
  }

  #noteInside(socket: Socket): void {
    const connection = this.#open.get(endsOf(socket));
    if (!connection) return;
    connection.inside = socket;
    this.#bySocket.set(socket, connection);
  }

  #end(connection: Connection): void {
    this.#forget(connection);
    (connection.inside ?? connection.raw).destroy();
  }

  /** Once, when it is asked to go or has gone by itself. */
  #forget(connection: Connection): void {
    const { ends, network } = connection;
    if (this.#open.get(ends) !== connection) return;
    this.#open.delete(ends);
    if (--network.open === 0) this.#networks.delete(network.name);
  }

  /** Ends those that have sent most without coming to an end with their headers, if that is too much together. */
  #boundBegun(): void {
    const begun = [...this.#open.values()]
      .filter((connection) => !connection.isAuthenticated && isIdle(connection))
      .map((connection) => ({ connection, bytes: (connection.inside?.bytesRead ?? 0) - connection.readBefore }));
    let total = begun.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= mostBegun) return;
    for (const { connection, bytes } of begun.sort((a, b) => b.bytes - a.bytes)) {
      if (total <= mostBegun) return;
      total -= bytes;
      this.#end(connection);
    }
  }

  #makeRoom(): boolean {
    let least: Connection | undefined;
    for (const one of this.#open.values()) if (givesWay(one) && (!least || isLess(one, least))) least = one;
    if (least) this.#end(least);
    return least !== undefined;
  }
}

/** The same for both sockets of a connection, and for no other at the time. */
const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

/** It waits for a request; an unknown client that is still sending one counts as well. */
const givesWay = (connection: Connection): boolean =>
  isIdle(connection) || (!connection.isAuthenticated && !connection.response!.req.complete);

const isIdle = ({ response }: Connection): boolean => !response || response.writableFinished || response.destroyed;

/** Of those that are alike the older one is less. */
function isLess(one: Connection, other: Connection): boolean {
  return one.isAuthenticated === other.isAuthenticated ? one.network.open > other.network.open : other.isAuthenticated;
}
