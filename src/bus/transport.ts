import { once } from 'node:events';
import { connect as connectSocket, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions, Server, Transport } from '@nats-io/transport-node';
import { infoIn, ProtocolGuard } from './protocol-guard.ts';

/** Bytes of the first line of a NATS server, which comes before TLS: anybody on the way may have written it. */
const longestGreeting = 32 * 1024;
/** Bytes that wait for a NATS server that does not read. */
const mostWaiting = 128 * 1024 * 1024;
/** Milliseconds for the last bytes of a connection. */
const lastBytes = 1_000;

/**
 * The connection below the client of NATS. It differs from the client's own: TLS begins whatever the server's first line says of it, what the
 * server sends is checked before the client keeps it, and a server that never answers or never reads costs no memory.
 */
export class GuardedTransport implements Transport {
  readonly lang = 'muster';
  readonly version = '1';
  closeError?: Error;
  readonly #authority: string;
  readonly #guard = new ProtocolGuard();
  readonly #closed = Promise.withResolvers<void | Error>();
  #socket: Socket | undefined;
  #greeting: Uint8Array = Buffer.alloc(0);
  #isEncrypted = false;
  #isClosed = false;

  /** PEM of who signs the certificates of NATS servers. */
  constructor(authority: string) {
    this.#authority = authority;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async connect({ hostname, port }: Server, _options: ConnectionOptions): Promise<void> {
    const host = hostname.replace(/^\[|\]$/g, '');
    const plain = this.#take(connectSocket({ host, port }));
    plain.setNoDelay(true);
    await once(plain, 'connect');
    this.#greeting = await readGreeting(plain);
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secure = this.#take(
      connectTls({ socket: plain, host, ca: this.#authority, rejectUnauthorized: true, ...name }),
    );
    await once(secure, 'secureConnect');
    this.#isEncrypted = true;
  }

  /** Whoever closes it meanwhile closes this socket too. */
  #take<S extends Socket>(socket: S): S {
    this.#socket = socket;
    // Whoever waits for it hears of it; afterwards it is why the connection was closed.
    socket.on('error', (error) => (this.closeError ??= error));
    if (this.#isClosed) socket.destroy();
    return socket;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield this.#checked(this.#greeting);
      for await (const chunk of this.#socket!) yield this.#checked(chunk as Uint8Array);
    } catch (error) {
      this.closeError ??= error as Error;
    } finally {
      this.#end();
    }
  }

  #checked(chunk: Uint8Array): Uint8Array {
    const problem = this.#guard.check(chunk);
    if (problem !== undefined) throw new Error(problem);
    return chunk;
  }

  isEncrypted(): boolean {
    return this.#isEncrypted;
  }

  send(frame: Uint8Array): void {
    if (this.#isClosed || !this.#socket) return;
    if (this.#socket.writableLength + frame.length > mostWaiting) {
      this.closeError ??= new Error('it does not take what it is sent');
      this.#end();
    } else this.#socket.write(frame);
  }

  async close(error?: Error): Promise<void> {
    if (error) this.closeError ??= error;
    else if (this.#isEncrypted && !this.#isClosed) await this.#lastBytes();
    this.#end();
  }

  #lastBytes(): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, lastBytes).unref();
      this.#socket!.end(() => resolve());
    });
  }

  disconnect(): void {
    this.#end();
  }

  discard(): void {
    this.#end();
  }

  closed(): Promise<void | Error> {
    return this.#closed.promise;
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket?.destroy();
    this.#closed.resolve(this.closeError);
  }
}

async function readGreeting(socket: Socket): Promise<Uint8Array> {
  let greeting = Buffer.alloc(0);
  while (!greeting.includes(10)) {
    const chunk = await nextChunk(socket);
    greeting = Buffer.concat([greeting, chunk]);
    if (greeting.length > longestGreeting) throw new Error('it sent a line that is too long');
  }
  // What follows before TLS can come from anybody.
  if (!greeting.toString('latin1').endsWith('\r\n') || !infoIn(greeting.toString('latin1').trimEnd()))
    throw new Error('it does not speak the protocol of NATS');
  return greeting;
}

/** Nothing is read further, so that TLS gets all that follows. */
function nextChunk(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      socket.off('data', taken).off('error', failed).off('close', ended).pause();
      settle();
    };
    const taken = (chunk: Buffer): void => done(() => resolve(chunk));
    const failed = (error: Error): void => done(() => reject(error));
    const ended = (): void => failed(new Error('it closed the connection'));
    socket.on('data', taken).on('error', failed).on('close', ended);
  });
}
