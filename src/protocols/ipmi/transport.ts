import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { noSocket } from './faults.ts';
import { isRmcpPlus, isSetupAnswer, readPong, recipientOf } from './header.ts';
import { packetSize, randomWord } from './wire.ts';

/** Who gets the packets for a session id, if they come from the right address. */
export interface Listener {
  readonly address: string;
  readonly port: number;
  receive(packet: Buffer): void;
}

export type PongHandler = (address: string, port: number, ipmi: boolean) => void;
export type Sent = (error: Error | null) => void;

const sendBuffer = 4 << 20;
/** libuv reads so many datagrams before it looks at anything else; as many mean that there are more. */
const fullBatch = 32;
const mostNoisy = 10_000;
const longestFlush = 200;

/** A sender's address without the zone of a link-local one, which is not always named alike. */
export function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone < 0 ? address : address.slice(0, zone);
}

/** A socket for many sessions, or for one with a BMC that wants its own. */
export class Transport {
  readonly #socket: Socket;
  readonly #now: () => number;
  readonly #onPong: PongHandler;
  readonly #closed: () => void;
  readonly #listeners = new Map<number, Listener>();
  /** All that have an id, by the address they talk to. */
  readonly #neighbours = new Map<string, Set<Listener>>();
  /** When an address last sent what is no IPMI 2.0. */
  readonly #noisy = new Map<string, number>();
  #packet = Buffer.allocUnsafeSlow(packetSize);
  #batch = 0;
  #counting = false;
  #wasFull = false;

  constructor(family: 4 | 6, receiveBuffer: number, now: () => number, onPong: PongHandler, closed: () => void) {
    this.#now = now;
    this.#onPong = onPong;
    this.#closed = closed;
    this.#socket = createSocket({
      type: family === 4 ? 'udp4' : 'udp6',
      ipv6Only: family === 6,
      recvBufferSize: receiveBuffer,
      sendBufferSize: sendBuffer,
      // Only addresses are sent to. Without this every packet waits for a resolver that has nothing to do.
      lookup: (address, _options, done) => done(null, address, family),
    });
    this.#socket.on('message', (packet, sender) => this.#receive(packet, sender));
  }

  async open(): Promise<void> {
    try {
      const listening = once(this.#socket, 'listening');
      this.#socket.bind({ port: 0, exclusive: true });
      await listening;
    } catch (error) {
      this.#closed();
      throw noSocket(error as NodeJS.ErrnoException);
    }
    // What cannot be sent is reported to its sender; an error about one peer must not end the talk with the others.
    this.#socket.on('error', () => undefined);
  }

  /** Bytes that the system keeps for this socket until they are read; less than was asked for if it does not give as much. */
  get receiveBuffer(): number {
    return this.#socket.getRecvBufferSize();
  }

  /** Whether packets that came are likely not to be read yet. */
  get backlog(): boolean {
    return this.#wasFull || this.#batch >= fullBatch;
  }

  packet(): Buffer {
    return this.#packet;
  }

  send(packet: Buffer, length: number, address: string, port: number, sent: Sent): void {
    this.#socket.send(packet, 0, length, port, address, sent);
    // Nearly always the system has taken the packet by now. If not, its buffer must stay as it is.
    if (this.#socket.getSendQueueCount() > 0) this.#packet = Buffer.allocUnsafeSlow(packetSize);
  }

  claim(listener: Listener): number {
    for (;;) {
      const id = randomWord();
      if (id !== 0 && !this.#listeners.has(id)) {
        this.#listeners.set(id, listener);
        return id;
      }
    }
  }

  release(id: number): void {
    this.#listeners.delete(id);
  }

  /** From now on answers from there that name no session come here too. */
  join(listener: Listener): void {
    const all = this.#neighbours.get(listener.address);
    if (all) all.add(listener);
    else this.#neighbours.set(listener.address, new Set([listener]));
  }

  leave(listener: Listener): void {
    const all = this.#neighbours.get(listener.address);
    all?.delete(listener);
    if (all?.size === 0) this.#neighbours.delete(listener.address);
  }

  heardNoise(address: string, since: number): boolean {
    return (this.#noisy.get(address) ?? Number.NEGATIVE_INFINITY) >= since;
  }

  /** Waits a moment for what is still to be sent, then closes. */
  async close(): Promise<void> {
    const until = this.#now() + longestFlush;
    while (this.#socket.getSendQueueCount() > 0 && this.#now() < until) await pause(5);
    this.#socket.close();
    this.#closed();
  }

  #receive(packet: Buffer, sender: RemoteInfo): void {
    this.#batch++;
    if (!this.#counting) {
      this.#counting = true;
      setImmediate(this.#endBatch);
    }
    const address = withoutZone(sender.address);
    const id = recipientOf(packet);
    const listener = this.#listeners.get(id);
    if (listener !== undefined) {
      if (listener.address === address && listener.port === sender.port) listener.receive(packet);
    } else if (id === 0) {
      this.#receiveOther(packet, address, sender.port);
    }
  }

  #receiveOther(packet: Buffer, address: string, port: number): void {
    const pong = readPong(packet);
    if (pong !== undefined) return this.#onPong(address, port, pong.ipmi);
    if (isSetupAnswer(packet)) {
      for (const each of this.#neighbours.get(address) ?? []) if (each.port === port) each.receive(packet);
    }
    if (isRmcpPlus(packet)) return;
    if (this.#noisy.size >= mostNoisy) this.#noisy.clear();
    this.#noisy.set(address, this.#now());
  }

  readonly #endBatch = (): void => {
    this.#wasFull = this.#counting = this.#batch >= fullBatch;
    this.#batch = 0;
    // Nothing may come after a full batch; the next turn of the loop shows it.
    if (this.#counting) setImmediate(this.#endBatch);
  };
}

/** What a datagram takes from the buffer of a socket, in bytes: some network cards give each half a page. */
export const perAnswer = 2_304;
/** With the smallest buffers that systems have, enough for all sessions that are worked on at a time. */
const mostSockets = 64;

/**
 * The sockets of an address family, shared by all sessions. Each session has at most one answer under way, so a socket with no more
 * sessions than its buffer takes answers loses none of them, however long this process has no time to read: the system drops what
 * comes when the buffer is full. How large a buffer may be is up to the system; often one socket is enough.
 */
export class Sockets {
  readonly #open: () => Promise<Transport>;
  readonly #all: { readonly transport: Transport; readonly room: number; users: number }[] = [];
  #opening: Promise<void> | undefined;

  constructor(open: () => Promise<Transport>) {
    this.#open = open;
  }

  /** A socket for one session more; `leave` it when that has ended. */
  async join(): Promise<Transport> {
    for (;;) {
      const found = this.#roomiest();
      if (found && (found.users < found.room || this.#all.length >= mostSockets)) {
        found.users++;
        return found.transport;
      }
      this.#opening ??= this.#openOne().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
  }

  leave(transport: Transport): void {
    const found = this.#all.find((socket) => socket.transport === transport);
    if (found) found.users--;
  }

  /** One for packets that belong to no session. */
  async any(): Promise<Transport> {
    const transport = await this.join();
    this.leave(transport);
    return transport;
  }

  #roomiest() {
    let best = this.#all[0];
    for (const socket of this.#all) if (best && socket.room - socket.users > best.room - best.users) best = socket;
    return best;
  }

  async #openOne(): Promise<void> {
    const transport = await this.#open();
    const room = Math.max(1, Math.floor(transport.receiveBuffer / perAnswer));
    this.#all.push({ transport, room, users: 0 });
  }
}
