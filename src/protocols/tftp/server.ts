import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { agree } from './options.ts';
import { type ErrorCode, errorPacket, parseRequest } from './packets.ts';
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
  /** What a client gets for a name from our address that it reaches; a TftpRefusal is its answer. */
  open(name: string, client: string, server: string): Promise<Source>;
  /** Hears of each transfer that is over. */
  ended?(transfer: { readonly name: string; readonly client: string; readonly complete: boolean }): void;
  /** Hears of what nobody can be told. */
  failed?(error: unknown): void;
}

/** Of all clients, and of one. Firmware asks for one file at a time, at times again before it has heard of the first. */
const mostTransfers = 4_096;
const mostOfClient = 8;
/** RFC 2347: a request has at most 512 bytes. What is longer would be kept as long as its transfer. */
const largestRequest = 2_048;

/** Serves files for reading. Each transfer has a socket of its own, as RFC 1350 wants it, that hears nobody but its client. */
export class TftpServer {
  readonly #socket: Socket;
  readonly #options: TftpOptions;
  readonly #transfers = new Set<Transfer>();
  readonly #work = new Set<Promise<void>>();
  readonly #ofClient = new Map<string, number>();
  /** Requests under way, by client, port and packet: one that is sent again must not begin a second transfer. */
  readonly #underWay = new Set<string>();

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
    for (const transfer of this.#transfers) transfer.stop();
    await Promise.all(this.#work);
  }

  #begin(packet: Buffer, peer: RemoteInfo): void {
    if (packet.length > largestRequest) return;
    const client = peer.address;
    const key = `${client} ${peer.port} ${packet.toString('latin1')}`;
    const active = this.#ofClient.get(client) ?? 0;
    if (this.#underWay.has(key) || active >= mostOfClient || this.#underWay.size >= mostTransfers) return;
    this.#underWay.add(key);
    this.#ofClient.set(client, active + 1);
    const work = this.#serve(packet, peer)
      .catch((error: unknown) => this.#options.failed?.(error))
      .finally(() => {
        this.#work.delete(work);
        this.#underWay.delete(key);
        const left = this.#ofClient.get(client)! - 1;
        if (left === 0) this.#ofClient.delete(client);
        else this.#ofClient.set(client, left);
      });
    this.#work.add(work);
  }

  async #serve(packet: Buffer, peer: RemoteInfo): Promise<void> {
    const request = parseRequest(packet);
    // What is no request may be an answer to somebody else; to answer that could go on for ever.
    if (!request) return;
    const socket = await this.#socketTo(peer);
    try {
      if (request === 'write') throw new TftpRefusal('accessViolation', 'Files can only be read here.');
      if (request.mode !== 'octet') throw new TftpRefusal('illegalOperation', 'Ask in mode octet.');
      const source = await this.#options.open(request.name, peer.address, socket.address().address);
      let hasAll = false;
      try {
        const transfer = new Transfer(socket, source, agree(request.options, source.size, familyOf(peer.address)));
        this.#transfers.add(transfer);
        const { complete, failure } = await transfer.run();
        this.#transfers.delete(transfer);
        hasAll = complete;
        if (failure) this.#options.failed?.(failure);
        this.#options.ended?.({ name: request.name, client: peer.address, complete });
      } finally {
        await source.close(hasAll);
      }
    } catch (error) {
      const refusal = error instanceof TftpRefusal ? error : new TftpRefusal('undefined', 'The file cannot be sent.');
      await new Promise<void>((resolve) => socket.send(errorPacket(refusal.code, refusal.message), () => resolve()));
      if (refusal !== error) throw error;
    } finally {
      socket.close();
    }
  }

  /** From the address that was asked, to the client alone. */
  async #socketTo({ address, port }: RemoteInfo): Promise<Socket> {
    const socket = createSocket(familyOf(address) === 6 ? 'udp6' : 'udp4');
    // What comes from elsewhere is not heard; that the client is gone is told by the transfer.
    socket.on('error', () => undefined);
    socket.bind(0, this.#options.address);
    await once(socket, 'listening');
    socket.connect(port, address);
    await once(socket, 'connect');
    return socket;
  }
}

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);
