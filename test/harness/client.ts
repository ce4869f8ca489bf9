import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';

export interface CallOptions {
  /** Sent as JSON; a string or bytes are sent as they are. */
  readonly body?: unknown;
  /** For X-Auth-Token; null or absent: none. */
  readonly token?: string | null;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly root?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // oxlint-disable-next-line no-explicit-any -- tests look into replies of every shape
  readonly json: any;
}

/** A keep-alive HTTPS client that verifies the server's certificate. */
export class Client {
  readonly port: number;
  readonly ca: string;
  readonly #agent: Agent;

  /** `localAddress`: where it calls from. */
  constructor(port: number, ca: string, localAddress = '127.0.0.1') {
    this.port = port;
    this.ca = ca;
    this.#agent = new Agent({ keepAlive: true, ca, localAddress });
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const { body, token, query, root = '/muster' } = options;
    const parameters = query ? `?${new URLSearchParams(query as Record<string, string>).toString()}` : '';
    const headers: Record<string, string | number> = {};
    if (token) headers['X-Auth-Token'] = token;
    let bytes: Uint8Array | undefined;
    if (body !== undefined) {
      bytes = body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = bytes.length;
    }
    return this.#send(method, root + path + parameters, { ...headers, ...options.headers }, bytes);
  }

  /** Sends `size` bytes of body, by chunks if `chunked`, until they are all sent or the reply is there, as curl does. */
  async upload(method: string, path: string, size: number, chunked: boolean, token: string | null): Promise<Reply> {
    const headers: Record<string, string | number> = { 'Content-Type': 'application/json' };
    if (token) headers['X-Auth-Token'] = token;
    if (chunked) headers['Transfer-Encoding'] = 'chunked';
    else headers['Content-Length'] = size;
    const piece = Buffer.alloc(65_536, ' ');
    return new Promise((resolve, reject) => {
      const sending = request({ ...this.#target(method, path), headers, agent: false, ca: this.ca });
      let answered = false;
      sending.once('response', (response) => {
        answered = true;
        resolve(collect(response).finally(() => sending.destroy()));
      });
      sending.once('error', (error) => answered || reject(error));
      let sent = 0;
      const more = (): void => {
        while (!answered && sent < size) {
          sent += piece.length;
          if (!sending.write(piece)) {
            sending.once('drain', more);
            return;
          }
        }
        if (!answered) sending.end();
      };
      more();
    });
  }

  /** A TLS connection for requests that no HTTP library would send. */
  connect(): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: this.port, ca: this.ca }, () => resolve(socket));
      socket.once('error', reject);
    });
  }

  /** Sends text as it is on a connection of its own and answers all that comes back until the server closes it. */
  async raw(text: string): Promise<string> {
    const socket = await this.connect();
    return new Promise((resolve) => {
      let answer = '';
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      socket.once('close', () => resolve(answer));
      socket.on('error', () => {});
      socket.write(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #target(method: string, path: string) {
    return { host: '127.0.0.1', port: this.port, method, path };
  }

  #send(
    method: string,
    path: string,
    headers: Record<string, string | number>,
    bytes: Uint8Array | undefined,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const sending = request({ ...this.#target(method, path), headers, agent: this.#agent, maxHeaderSize: 1_048_576 });
      sending.once('response', (response) => resolve(collect(response)));
      sending.once('error', reject);
      sending.end(bytes);
    });
  }
}

async function collect(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return {
    status: response.statusCode!,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}
