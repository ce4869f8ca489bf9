import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';

export interface Reply {
  readonly status: number;
  readonly length: number;
  /** Only if it was asked for. */
  readonly body: Buffer | undefined;
  /** Milliseconds from sending to the last byte. */
  readonly took: number;
}

export interface Call {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly keepBody?: boolean;
}

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  readonly began: number;
  readonly chunks: Buffer[] | undefined;
}

/**
 * One kept-alive HTTPS connection that sends one request at a time. It does no more than needed, so that the client takes as
 * little as possible from what is measured.
 */
export class Connection {
  readonly #socket: TLSSocket;
  readonly #headers: string;
  #waiting: Waiting | undefined;
  #head: Buffer = Buffer.alloc(0);
  #status = 0;
  #length = -1;
  #received = 0;

  private constructor(socket: TLSSocket, headers: string) {
    this.#socket = socket;
    this.#headers = headers;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('The server closed the connection.')));
  }

  static async open(port: number, token?: string): Promise<Connection> {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    socket.setNoDelay(true);
    await once(socket, 'secureConnect');
    return new Connection(socket, `Host: localhost\r\n${token ? `X-Auth-Token: ${token}\r\n` : ''}`);
  }

  /** The TLS version and cipher in use. */
  get cipher(): string {
    return `${this.#socket.getProtocol()} ${this.#socket.getCipher().name}`;
  }

  send({ method = 'GET', path, body, keepBody = false }: Call): Promise<Reply> {
    const bytes = body === undefined ? '' : JSON.stringify(body);
    const length =
      bytes === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(bytes)}\r\n`;
    if (this.#socket.destroyed) return Promise.reject(new Error('The server has closed the connection meanwhile.'));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, began: performance.now(), chunks: keepBody ? [] : undefined };
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#headers}${length}\r\n${bytes}`);
    });
  }

  /** Like `send`, but a reply that is not a success is an error. */
  async expect(call: Call): Promise<Reply> {
    const reply = await this.send({ ...call, keepBody: true });
    if (reply.status >= 300) throw new Error(`${call.path}: ${reply.status} ${reply.body?.toString().slice(0, 500)}`);
    return reply;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    if (this.#length < 0) {
      this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = this.#head.toString('latin1', 0, end);
      this.#status = Number(head.slice(9, 12));
      this.#length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      rest = this.#head.subarray(end + 4);
      this.#head = Buffer.alloc(0);
    }
    this.#received += rest.length;
    this.#waiting?.chunks?.push(rest);
    if (this.#received < this.#length) return;
    const { resolve, began, chunks } = this.#waiting!;
    const reply: Reply = {
      status: this.#status,
      length: this.#length,
      body: chunks && Buffer.concat(chunks),
      took: performance.now() - began,
    };
    this.#waiting = undefined;
    this.#length = -1;
    this.#received = 0;
    resolve(reply);
  }
}
