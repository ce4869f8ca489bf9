import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { certificateMaker, rsa } from './redfish/certificate.ts';

/** What came before the empty line. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
}

export interface RawTls {
  readonly port: number;
  readonly asked: RawRequest[];
  /** Connections that are open now. */
  readonly open: ReadonlySet<Socket>;
  stop(): Promise<void>;
}

/** A TLS server that answers with whatever bytes it is told to, however wrong; requests have no body it would look at. */
export async function rawTls(
  address: string,
  answer: (socket: TLSSocket, request: RawRequest) => void,
  options: TlsOptions = {},
): Promise<RawTls> {
  const maker = await certificateMaker(options.dhparam === undefined ? undefined : rsa);
  const asked: RawRequest[] = [];
  const open = new Set<Socket>();
  const server = createServer({ cert: await maker.make(address), key: maker.key, ...options }, (socket) => {
    let text = '';
    // Clients leave in the middle of what they are sent.
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const [method = '', path = ''] = text.split(' ', 2);
        const request = { method, path };
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
        text = text.slice(end + 4 + length);
        asked.push(request);
        answer(socket, request);
      }
    });
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', () => {});
  server.listen(0, address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    open,
    async stop() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A whole answer with a JSON body. */
export function jsonAnswer(body: string | object, status = '200 OK', headers = ''): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`;
}

/** Sends the same piece as fast as it is taken, until the other side leaves. */
export function flood(socket: TLSSocket, piece: string | (() => string)): void {
  const more = (): void => {
    while (!socket.destroyed) {
      if (!socket.write(typeof piece === 'string' ? piece : piece())) {
        socket.once('drain', more);
        return;
      }
    }
  };
  more();
}

/** Sends the piece again and again, so many milliseconds apart, until the other side leaves. */
export function drip(socket: TLSSocket, piece: string, milliseconds: number): void {
  const timer = setInterval(() => socket.write(piece), milliseconds);
  socket.once('close', () => clearInterval(timer));
}
