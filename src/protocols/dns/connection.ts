import { createConnection, type Socket } from 'node:net';
import { DnsFault } from './names.ts';

interface Waiting {
  readonly timer: NodeJS.Timeout;
  resolve(answer: Buffer): void;
  reject(error: DnsFault): void;
}

const connectWithin = 5_000;

/** One TCP connection to a name server with several requests under way (RFC 7766); answers may come in any order. */
export class DnsConnection {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #pieces: Buffer[] = [];
  #buffered = 0;
  #closed: DnsFault | undefined;
  #nextId = Math.floor(Math.random() * 65_536);

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#end(new DnsFault('unreachable', error.message, undefined, error)));
    socket.on('close', () => this.#end(new DnsFault('unreachable', 'it has closed the connection')));
  }

  static open(host: string, port: number): Promise<DnsConnection> {
    return new Promise((resolve, reject) => {
      const socket = createConnection({ host, port });
      const fail = (error: Error): void => {
        clearTimeout(timer);
        socket.destroy();
        reject(new DnsFault('unreachable', error.message, undefined, error));
      };
      const timer = setTimeout(() => fail(new Error('it does not answer')), connectWithin);
      socket.once('error', fail);
      socket.once('connect', () => {
        clearTimeout(timer);
        socket.off('error', fail);
        resolve(new DnsConnection(socket));
      });
    });
  }

  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  /** An id that no request under way has. */
  newId(): number {
    do this.#nextId = (this.#nextId + 1) & 0xffff;
    while (this.#waiting.has(this.#nextId));
    return this.#nextId;
  }

  /** Sends a message, whose id comes from `newId`, and gives the answer with that id. */
  exchange(message: Buffer, timeout: number): Promise<Buffer> {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = message.readUInt16BE(0);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#end(new DnsFault('late', `it has not answered within ${timeout / 1_000} s`)),
        timeout,
      );
      this.#waiting.set(id, { timer, resolve, reject });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      this.#socket.cork();
      this.#socket.write(length);
      this.#socket.write(message);
      this.#socket.uncork();
    });
  }

  close(): void {
    this.#end(new DnsFault('unreachable', 'the connection was closed'));
  }

  #take(chunk: Buffer): void {
    this.#pieces.push(chunk);
    this.#buffered += chunk.length;
    if (this.#buffered < 2) return;
    let bytes = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces);
    while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      const end = 2 + bytes.readUInt16BE(0);
      this.#deliver(bytes.subarray(2, end));
      bytes = bytes.subarray(end);
    }
    this.#pieces = bytes.length > 0 ? [bytes] : [];
    this.#buffered = bytes.length;
  }

  #deliver(answer: Buffer): void {
    if (answer.length < 2) return;
    const id = answer.readUInt16BE(0);
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(answer);
  }

  #end(reason: DnsFault): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#socket.destroy();
    for (const { timer, reject } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(reason);
    }
    this.#waiting.clear();
  }
}
