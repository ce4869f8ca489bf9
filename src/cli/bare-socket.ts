import type { ByteListener, ByteStream } from './wire.ts';

/** What node:net itself is made of, as far as it is used here. */
interface Handle {
  onread: (chunk: ArrayBuffer | undefined) => void;
  connect(request: Request, path: string): number;
  readStart(): number;
  readStop(): number;
  writeBuffer(request: Request, bytes: Uint8Array): number;
  close(): void;
}
interface Request {
  oncomplete: (status: number) => void;
}
interface Pipes {
  readonly Pipe: new (kind: number) => Handle;
  readonly PipeConnectWrap: new () => Request;
  readonly constants: { readonly SOCKET: number };
}
interface Streams {
  readonly WriteWrap: new () => Request;
  /** What the last reading came to, and where in its chunk the bytes begin. */
  readonly streamBaseState: Readonly<Record<number, number>>;
  readonly kReadBytesOrError: number;
  readonly kArrayBufferOffset: number;
}
type Binding = (name: string) => unknown;

/**
 * A connection to a socket of this machine without node:net and the streams it is built on: to load these takes longer than everything
 * else a short command does. Node promises nothing about its inner parts, so that every other Node than the one that comes along gets
 * undefined, and node:net is taken.
 */
export function bareSocket(path: string, listener: ByteListener): ByteStream | undefined {
  const { version, binding } = process as unknown as { version: string; binding?: Binding };
  if (!version.startsWith('v24.') || !binding) return undefined;
  const pipes = binding('pipe_wrap') as Pipes;
  const socket = new BareSocket(new pipes.Pipe(pipes.constants.SOCKET), binding, listener);
  socket.connect(new pipes.PipeConnectWrap(), path);
  return socket;
}

/** More is not read before somebody takes it. */
const mostWaiting = 262_144;

class BareSocket implements ByteStream {
  readonly #handle: Handle;
  readonly #binding: Binding;
  readonly #streams: Streams;
  readonly #listener: ByteListener;
  readonly #waiting: Buffer[] = [];
  readonly #unsent: Buffer[] = [];
  #size = 0;
  #isOpen = false;
  #isReading = false;
  #isClosed = false;

  constructor(handle: Handle, binding: Binding, listener: ByteListener) {
    this.#handle = handle;
    this.#binding = binding;
    this.#streams = binding('stream_wrap') as Streams;
    this.#listener = listener;
    handle.onread = (chunk) => this.#receive(chunk);
  }

  connect(request: Request, path: string): void {
    request.oncomplete = (status) => {
      this.#check(status);
      for (const bytes of this.#unsent.splice(0)) this.#send(bytes);
      this.#isOpen = !this.#isClosed;
      this.#resume();
    };
    const status = this.#handle.connect(request, path);
    // Whoever opens it does not have it yet.
    if (status < 0) queueMicrotask(() => this.#check(status));
  }

  write(bytes: Buffer): void {
    if (this.#isOpen) this.#send(bytes);
    else this.#unsent.push(bytes);
  }

  #send(bytes: Buffer): void {
    if (this.#isClosed) return;
    const oncomplete = (status: number) => this.#check(status);
    // The bytes must not go before they have left.
    const request = Object.assign(new this.#streams.WriteWrap(), { bytes, oncomplete });
    this.#check(this.#handle.writeBuffer(request, bytes));
  }

  read(): Buffer | null {
    const taken = this.#waiting.shift();
    if (!taken) return null;
    this.#size -= taken.length;
    this.#resume();
    return taken;
  }

  destroy(): void {
    this.#close();
  }

  #resume(): void {
    if (this.#isReading || this.#isClosed) return;
    this.#isReading = true;
    this.#check(this.#handle.readStart());
  }

  #receive(chunk: ArrayBuffer | undefined): void {
    const { streamBaseState, kReadBytesOrError, kArrayBufferOffset } = this.#streams;
    const size = streamBaseState[kReadBytesOrError]!;
    if (!chunk || size <= 0) return this.#check(size);
    this.#waiting.push(Buffer.from(chunk, streamBaseState[kArrayBufferOffset], size));
    this.#size += size;
    if (this.#size >= mostWaiting) {
      this.#isReading = false;
      this.#handle.readStop();
    }
    this.#listener.readable();
  }

  /** Below zero is a failure, or the end. */
  #check(status: number): void {
    if (status >= 0) return;
    const code = (this.#binding('uv') as { errname: (status: number) => string }).errname(status);
    this.#close(code === 'EOF' ? undefined : Object.assign(new Error(code), { code }));
  }

  #close(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#handle.close();
    this.#listener.ended(error);
  }
}
