/*
 * IPMI 2.0 over LAN, from what drivers ask for down to the wire; each layer uses those below it.
 *
 *   link.ts          what callers give and get: endpoint, request, answer
 *   commands/        what is said: requests and answers by name (ask.ts: completion codes to sentences), records taken apart
 *   client.ts        all BMCs of the process: one conversation per endpoint, sockets, names resolved (resolve.ts), pings (pings.ts)
 *   conversation.ts  one BMC and account: the queue of requests, the session that is opened, kept and renewed for them
 *   login.ts         opens a session: suites in turn, privilege, retries; handshake.ts is one attempt at it, without a clock
 *   exchange.ts      one request in a session: retries until its answer or its deadline (peer.ts: how long, and what is remembered;
 *                    core/pace.ts: how long answers take over all)
 *   session.ts       an open session: requests and answers, encrypted and numbered
 *   serial-*.ts      consoles: serial-session.ts is a session of one's own, with requests and characters; serial-line.ts has each
 *                    character arrive once
 *   setup-packets.ts the packets of a login, their keys and codes; header.ts: what is around all packets, and presence pings
 *   wire.ts          all that these want from the world: clock, random bytes, socket. port.ts is the real one, on shared
 *                    sockets (transport.ts) and the shared timer (timer-wheel.ts); tests are another
 */
import { Pace } from '../../core/pace.ts';
import { Conversation } from './conversation.ts';
import {
  credentialsOf,
  defaultPort,
  hostAndPort,
  type IpmiEndpoint,
  type IpmiLink,
  type IpmiRequest,
  type IpmiResponse,
} from './link.ts';
import { stopping } from './faults.ts';
import { defaultTiming, type Quirks, newQuirks, type Timing } from './peer.ts';
import { Pings } from './pings.ts';
import { Port } from './port.ts';
import { Resolver } from './resolve.ts';
import { type SerialConsole, SerialOpening, type SerialOptions, type SerialPast } from './serial-console.ts';
import { Sockets, Transport } from './transport.ts';
import { TimerWheel } from './timer-wheel.ts';

export type { SerialConsole, SerialOptions } from './serial-console.ts';
export type { IpmiEndpoint, IpmiLink, IpmiRequest, IpmiResponse, Privilege } from './link.ts';

export interface IpmiOptions extends Partial<Timing> {
  /** Milliseconds after the first presence ping at which it is sent again; at the last it is given up. */
  readonly pings?: readonly number[];
  /** Bytes that the system is asked to keep for a socket until they are read. */
  readonly receiveBuffer?: number;
}

const defaultBuffer = 8 << 20;

const mostQuirks = 200_000;
/** Sockets at once for BMCs that want one of their own. */
const mostOwnSources = 200;

/** All IPMI of the process: sessions with many BMCs over few sockets. */
export class IpmiClient {
  readonly #timing: Timing;
  readonly #receiveBuffer: number;
  readonly #wheel = new TimerWheel(
    () => performance.now(),
    () => this.#ready.values().some((transport) => transport.backlog),
  );
  readonly #pace = new Pace();
  readonly #pings: Pings;
  readonly #resolver = new Resolver(this.#wheel.now);
  readonly #sockets = { 4: this.#socketsOf(4), 6: this.#socketsOf(6) };
  readonly #ready = new Set<Transport>();
  #ownSources = 0;
  readonly #conversations = new Map<string, Conversation | Promise<Conversation>>();
  readonly #quirks = new Map<string, Quirks>();
  readonly #serials = new Set<SerialOpening>();
  readonly #serialPasts = new Map<string, SerialPast>();
  #closed = false;

  constructor(options: IpmiOptions = {}) {
    const { pings, receiveBuffer = defaultBuffer, ...timing } = options;
    this.#receiveBuffer = receiveBuffer;
    this.#timing = { ...defaultTiming, ...timing };
    this.#pings = new Pings(this.#wheel, pings);
  }

  /** Nothing is sent before the first request. All links to one endpoint share its session. */
  link(endpoint: IpmiEndpoint): IpmiLink {
    const key = keyOf(endpoint);
    return { request: (request, signal) => this.#request(key, endpoint, request, signal) };
  }

  /** The serial console of a machine, in a session that is not shared with commands. The signal ends the opening. */
  async openSerial(endpoint: IpmiEndpoint, options: SerialOptions, signal: AbortSignal): Promise<SerialConsole> {
    const key = keyOf(endpoint);
    const past = this.#pastOf(key);
    const { peer, port, release } = await this.#join(endpoint);
    if (this.#closed) {
      release();
      throw stopping();
    }
    const opening: SerialOpening = new SerialOpening(peer, options, past, () => {
      this.#serials.delete(opening);
      release();
    });
    this.#serials.add(opening);
    port.attach(opening.talker);
    return await opening.open(signal);
  }

  /** Consoles that are open, or being opened. */
  get serials(): number {
    return this.#serials.size;
  }

  /** Whether something that speaks IPMI answers a presence ping. */
  async ping(address: string, port: number | undefined, signal: AbortSignal): Promise<boolean> {
    const found = await this.#resolver.resolve(address);
    const transport = await this.#sockets[found.family].any();
    return await this.#pings.send(transport, found.address, port ?? defaultPort, signal);
  }

  /** BMCs that there is a session with, or that one is begun with. */
  get sessions(): number {
    return this.#conversations.size;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const conversation of this.#conversations.values()) {
      if (conversation instanceof Conversation) conversation.close();
    }
    for (const serial of this.#serials) serial.end();
    this.#pings.close();
    this.#wheel.stop();
    await Promise.all([...this.#ready].map((transport) => transport.close()));
  }

  #request(key: string, endpoint: IpmiEndpoint, request: IpmiRequest, signal: AbortSignal): Promise<IpmiResponse> {
    const known = this.#conversations.get(key);
    if (known instanceof Conversation && !this.#closed) return known.request(request, signal);
    return this.#requestLater(key, endpoint, request, signal, known ?? this.#begin(key, endpoint));
  }

  async #requestLater(
    key: string,
    endpoint: IpmiEndpoint,
    request: IpmiRequest,
    signal: AbortSignal,
    beginning: Conversation | Promise<Conversation>,
  ): Promise<IpmiResponse> {
    await beginning;
    if (this.#closed) throw stopping();
    return await this.#request(key, endpoint, request, signal);
  }

  #begin(key: string, endpoint: IpmiEndpoint): Promise<Conversation> {
    const beginning = this.#converse(key, endpoint);
    this.#conversations.set(key, beginning);
    beginning.then(
      (conversation) => this.#conversations.set(key, conversation),
      () => this.#conversations.delete(key),
    );
    return beginning;
  }

  async #converse(key: string, endpoint: IpmiEndpoint): Promise<Conversation> {
    const { peer, port, release } = await this.#join(endpoint);
    let isRetired = false;
    const conversation = new Conversation(peer, () => {
      if (isRetired) return;
      isRetired = true;
      this.#conversations.delete(key);
      release();
    });
    port.attach(conversation);
    return conversation;
  }

  /** A way to a BMC, until it is released. */
  async #join(endpoint: IpmiEndpoint) {
    const credentials = credentialsOf(endpoint);
    const { address, family } = await this.#resolver.resolve(endpoint.address);
    const sockets = this.#sockets[family];
    const transport = await sockets.join();
    const openOwn = () => this.#openOwn(family);
    const port = new Port(transport, openOwn, this.#wheel, address, endpoint.port ?? defaultPort);
    const peer = {
      where: hostAndPort(endpoint),
      credentials,
      timing: this.#timing,
      quirks: this.#quirksOf(endpoint),
      pace: this.#pace,
      wire: port,
    };
    const release = (): void => {
      sockets.leave(transport);
      void port.end();
    };
    return { peer, port, release };
  }

  #socketsOf(family: 4 | 6): Sockets {
    return new Sockets(() => this.#opened(family, () => undefined));
  }

  async #openOwn(family: 4 | 6): Promise<Transport | undefined> {
    if (this.#ownSources >= mostOwnSources) return undefined;
    this.#ownSources++;
    return await this.#opened(family, () => this.#ownSources--);
  }

  async #opened(family: 4 | 6, ended: () => void): Promise<Transport> {
    if (this.#closed) throw stopping();
    const transport = new Transport(family, this.#receiveBuffer, this.#wheel.now, this.#pings.pong, () => {
      this.#ready.delete(transport);
      ended();
    });
    await transport.open();
    if (this.#closed) {
      await transport.close();
      throw stopping();
    }
    this.#ready.add(transport);
    return transport;
  }

  #pastOf(key: string): SerialPast {
    let past = this.#serialPasts.get(key);
    if (!past) {
      if (this.#serialPasts.size >= mostQuirks) this.#serialPasts.clear();
      this.#serialPasts.set(key, (past = { lost: undefined }));
    }
    return past;
  }

  #quirksOf({ address, port, username }: IpmiEndpoint): Quirks {
    const key = `${address} ${port ?? defaultPort} ${username}`;
    let quirks = this.#quirks.get(key);
    if (quirks === undefined) {
      if (this.#quirks.size >= mostQuirks) this.#quirks.clear();
      quirks = newQuirks();
      this.#quirks.set(key, quirks);
    }
    return quirks;
  }
}

function keyOf({ address, port, username, password, kg, suites }: IpmiEndpoint): string {
  const key = kg === undefined ? '' : Buffer.from(kg).toString('hex');
  return [address, port ?? defaultPort, username, password, key, suites?.join(' ') ?? ''].join('\0');
}
