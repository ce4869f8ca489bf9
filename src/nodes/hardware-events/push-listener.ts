import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, Server as TlsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import { http } from '../../core/http.ts';
import type { Logger } from '../../core/log.ts';
import { eventsOf, type EventReceiver, type ReportedEvent } from '../../drivers/index.ts';

export interface TlsCredentials {
  readonly cert: string;
  readonly key: string;
}

/** Of a message of events. */
const mostBytes = 256 * 1024;
const mostConnections = 512;
/** Of one address: nobody keeps all others out, though several BMCs may be behind one. */
const mostOfAddress = 64;
/** Milliseconds. */
const timeout = 10_000;

interface Services {
  readonly box: SecretBox;
  readonly log: Logger;
}

/** Takes what BMCs send to their subscriptions. Each has an address with a token of its own, which only it and muster know. */
export class PushListener {
  readonly #take: (device: string, events: readonly ReportedEvent[]) => void;
  readonly #url: URL;
  readonly #box: SecretBox;
  readonly #log: Logger;
  readonly #servers: Server[] = [];
  readonly #ofAddress = new Map<string, number>();
  #devices: ReadonlyMap<string, string> = new Map();

  constructor(take: (device: string, events: readonly ReportedEvent[]) => void, url: string, { box, log }: Services) {
    this.#take = take;
    this.#url = new URL(url.endsWith('/') ? url : `${url}/`);
    this.#box = box;
    this.#log = log;
  }

  async listen(addresses: readonly ListenAddress[], credentials: TlsCredentials): Promise<void> {
    const options = {
      requestTimeout: timeout,
      headersTimeout: timeout,
      keepAliveTimeout: timeout,
      connectionsCheckingInterval: timeout / 2,
    };
    const handle = (request: IncomingMessage, response: ServerResponse): void => void this.#handle(request, response);
    for (const { host, port } of addresses) {
      const server =
        this.#url.protocol === 'https:'
          ? createServer({ ...options, ...credentials, handshakeTimeout: timeout }, handle)
          : http.createServer(options, handle);
      server.maxConnections = mostConnections;
      server.on('connection', (socket: Socket) => this.#admit(socket));
      this.#servers.push(server);
      try {
        await once(server.listen(port, host), 'listening');
      } catch (error) {
        const sentence = `Cannot listen for events of BMCs on ${formatListen({ host, port })}: ${(error as Error).message}.`;
        throw new Fault('unavailable', [sentence, 'Change the setting events.pushListen.']);
      }
    }
  }

  /** A new certificate serves the next connections. */
  show(credentials: TlsCredentials): void {
    for (const server of this.#servers) if (server instanceof TlsServer) server.setSecureContext({ ...credentials });
  }

  /** The same after every start, and at every server of a site: a subscription of before is found again. */
  receiverOf(device: string): EventReceiver {
    return {
      destination: new URL(this.#tokenOf(device), this.#url).href,
      context: 'muster',
      // All below our address is of muster: the BMC may have been another's, or the key of before.
      isOwn: (destination) => destination.startsWith(this.#url.href),
    };
  }

  know(devices: readonly string[]): void {
    this.#devices = new Map(devices.map((device) => [this.#tokenOf(device), device]));
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const server of this.#servers) (server as Server & { closeAllConnections(): void }).closeAllConnections();
  }

  #admit(socket: Socket): void {
    const { remoteAddress: address = '' } = socket;
    const open = this.#ofAddress.get(address) ?? 0;
    if (open >= mostOfAddress) return void socket.destroy();
    this.#ofAddress.set(address, open + 1);
    socket.once('close', () => {
      const left = this.#ofAddress.get(address)! - 1;
      if (left === 0) this.#ofAddress.delete(address);
      else this.#ofAddress.set(address, left);
    });
  }

  readonly #tokenOf = (device: string): string => this.#box.mac(`events of ${device}`);

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const device = path.startsWith(this.#url.pathname)
      ? this.#devices.get(path.slice(this.#url.pathname.length))
      : undefined;
    const answer = (status: number): void => {
      if (response.headersSent) return;
      response.writeHead(status, { 'content-length': 0, ...(status < 300 ? {} : { connection: 'close' }) }).end();
    };
    if (device === undefined) return answer(404);
    if (request.method !== 'POST') return answer(405);
    try {
      const body = await received(request);
      if (body === undefined) return answer(413);
      this.#take(device, eventsOf(body));
      answer(204);
    } catch (error) {
      this.#log.debug({ err: error, device }, 'a BMC sent what is no event');
      answer(400);
    }
  }
}

/** Undefined: it is too much. */
async function received(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
