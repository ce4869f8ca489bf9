import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { agree, type ErrorCode, errorPacket, parseRequest, type ReadRequest } from './packets.ts';
import { type Source, Transfer } from './transfer.ts';

export type { Source } from './transfer.ts';

/** Why a file is not sent; the client gets the text. */
export class TftpRefusal extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export interface TftpOptions {
  readonly address: string;
  /** 0: any that is free. */
  readonly port: number;
  /** What a client is counted as; absent: its address. */
  countedAs?(client: string): string;
  /** What a client gets for a name from our address that it reaches; a TftpRefusal is its answer. */
  open(name: string, client: string, server: string): Promise<Source>;
  /** Hears of each transfer that is over. */
  ended?(transfer: { readonly name: string; readonly client: string; readonly complete: boolean }): void;
  /** Gets what cannot be reported to any client. */
  failed?(error: unknown): void;
}

/** Of all clients, and of those that count as one: a rack may be behind one address, and each machine asks for one file at a time. */
const mostTransfers = 4_096;
const mostOfClient = 32;
/** So many that have not answered yet find room, even where all others have; beyond that they give way to each other first. */
const unheardShare = 1_024;
/** Requests that begin in one turn of the event loop: those of a flood that have given way to others before their turn cost no socket. */
const mostBegun = 16;
/** RFC 2347: a request has at most 512 bytes. What is longer would be kept as long as its transfer. */
const largestRequest = 2_048;

/** The place that a request takes, from its arrival until nothing is left of it. */
interface Slot {
  /** Client, port and packet: a request that is sent again must not begin a second transfer. */
  readonly key: string;
  readonly client: string;
  /** Undefined: the file is still being looked for. */
  transfer: Transfer | undefined;
  hasGivenWay: boolean;
}

/**
 * Serves files for reading. Each transfer has a socket of its own, as RFC 1350 wants it, that hears nobody but its client.
 * Anybody can write any address on a request, so when all slots are taken, a client that never answered gives way to a new one, the oldest first.
 */
export class TftpServer {
  readonly #socket: Socket;
  readonly #options: TftpOptions;
  /** What begins in the next turns, the newest first: of a flood the oldest give way. */
  #waiting: { readonly slot: Slot; begin(): void }[] = [];
  readonly #work = new Set<Promise<void>>();
  readonly #slots = new Map<string, Slot>();
  /** Of clients that have not answered yet, the oldest first. */
  readonly #unheard = new Set<Slot>();
  readonly #ofClient = new Map<string, Set<Slot>>();

  private constructor(socket: Socket, options: TftpOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('message', (packet, peer) => this.#begin(packet, peer));
    socket.on('error', (error) => options.failed?.(error));
  }

  static async listen(options: TftpOptions): Promise<TftpServer> {
    const socket = createSocket(familyOf(options.address) === 6 ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' });
    socket.bind(options.port, options.address);
    await once(socket, 'listening');
    return new TftpServer(socket, options);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => void this.#socket.close(() => resolve()));
    for (const slot of this.#slots.values()) this.#giveWay(slot);
    await Promise.all(this.#work);
  }

  #begin(packet: Buffer, peer: RemoteInfo): void {
    if (packet.length > largestRequest) return;
    const request = parseRequest(packet);
    // What is no request may be an answer to somebody else; to answer that could go on for ever.
    if (!request) return;
    const key = `${peer.address} ${peer.port} ${packet.toString('latin1')}`;
    const known = this.#slots.get(key);
    if (known) {
      known.transfer?.repeatAnswer();
      return;
    }
    const slot = this.#take(key, this.#options.countedAs?.(peer.address) ?? peer.address);
    if (!slot) return;
    const work = this.#serve(request, peer, slot)
      .catch((error: unknown) => this.#options.failed?.(error))
      .finally(() => {
        this.#work.delete(work);
        this.#free(slot);
      });
    this.#work.add(work);
  }

  #turn(slot: Slot): Promise<void> {
    return new Promise((begin) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#beginSome());
      this.#waiting.push({ slot, begin });
    });
  }

  #beginSome(): void {
    for (let begun = 0; begun < mostBegun && this.#waiting.length > 0; ) {
      const { slot, begin } = this.#waiting.pop()!;
      if (!slot.hasGivenWay) begun++;
      begin();
    }
    if (this.#waiting.length > 0) setImmediate(() => this.#beginSome());
  }

  /** A free slot, if need be that of another; undefined: this client has all of its own in use. */
  #take(key: string, client: string): Slot | undefined {
    const own = this.#ofClient.get(client) ?? new Set();
    if (own.size >= mostOfClient) {
      const unheard = own.values().find((each) => this.#unheard.has(each));
      if (!unheard) return undefined;
      this.#giveWay(unheard);
    }
    if (this.#slots.size >= mostTransfers)
      this.#giveWay(this.#unheard.size >= unheardShare ? this.#unheard.values().next().value! : this.#quietest());
    const slot: Slot = { key, client, transfer: undefined, hasGivenWay: false };
    this.#slots.set(key, slot);
    this.#unheard.add(slot);
    this.#ofClient.set(client, own.add(slot));
    return slot;
  }

  /** Of clients that have answered, who has said nothing for the longest time. */
  #quietest(): Slot {
    const heardAt = ({ transfer }: Slot): number => transfer?.heardAt ?? Infinity;
    return this.#slots.values().reduce((quietest, slot) => (heardAt(slot) < heardAt(quietest) ? slot : quietest));
  }

  #giveWay(slot: Slot): void {
    this.#free(slot);
    slot.hasGivenWay = true;
    slot.transfer?.stop();
  }

  #free(slot: Slot): void {
    if (this.#slots.get(slot.key) !== slot) return;
    this.#slots.delete(slot.key);
    this.#unheard.delete(slot);
    const own = this.#ofClient.get(slot.client)!;
    own.delete(slot);
    if (own.size === 0) this.#ofClient.delete(slot.client);
  }

  async #serve(request: ReadRequest | 'write', peer: RemoteInfo, slot: Slot): Promise<void> {
    await this.#turn(slot);
    if (slot.hasGivenWay) return;
    const socket = await this.#socketTo(peer);
    try {
      if (request === 'write') throw new TftpRefusal('accessViolation', 'Files can only be read here.');
      if (request.mode !== 'octet') throw new TftpRefusal('illegalOperation', 'Ask in mode octet.');
      const source = await this.#options.open(request.name, peer.address, socket.address().address);
      let complete = false;
      try {
        if (!slot.hasGivenWay) complete = await this.#transfer(request, peer, slot, socket, source);
      } finally {
        await source.close(complete);
      }
    } catch (error) {
      const refusal = error instanceof TftpRefusal ? error : new TftpRefusal('undefined', 'The file cannot be sent.');
      await new Promise<void>((resolve) => socket.send(errorPacket(refusal.code, refusal.message), () => resolve()));
      if (refusal !== error) throw error;
    } finally {
      socket.close();
    }
  }

  async #transfer(
    { name, options }: ReadRequest,
    { address: client }: RemoteInfo,
    slot: Slot,
    socket: Socket,
    source: Source,
  ): Promise<boolean> {
    const transfer = (slot.transfer = new Transfer(socket, source, agree(options, source.size, familyOf(client))));
    const { complete, failure } = await transfer.run(() => this.#unheard.delete(slot));
    if (failure) this.#options.failed?.(failure);
    this.#options.ended?.({ name, client, complete });
    return complete;
  }

  /** From the address that was asked, to the client alone. */
  async #socketTo({ address, port }: RemoteInfo): Promise<Socket> {
    const socket = createSocket(familyOf(address) === 6 ? 'udp6' : 'udp4');
    // What comes from elsewhere is not heard; the transfer reports that the client is gone.
    socket.on('error', () => undefined);
    socket.bind(0, this.#options.address);
    await once(socket, 'listening');
    socket.connect(port, address);
    await once(socket, 'connect');
    return socket;
  }
}

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);
