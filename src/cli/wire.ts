import type { Socket } from 'node:net';

/** The head of a reply, and its body as it comes. */
export interface WireReply {
  readonly status: number;
  /** By names in small letters. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Read it to its end, or the connection cannot be used again. */
  readonly body: AsyncIterable<Buffer>;
}

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  /** What comes piece by piece goes as it comes. */
  readonly body?: Buffer | AsyncIterable<Buffer> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that the connection may take; without them as long as the system waits. */
  readonly connectTimeout?: number | undefined;
}

/** No connection was made, so nothing of the request has left. The cause says why. */
export class Unsent extends Error {
  declare readonly cause: Error;

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

type Open = () => Socket;

const mostHead = 65_536;

/**
 * HTTP/1.1 as far as a client of muster needs it. The built-in client takes as long to get ready as the rest of a short command, and
 * nobody waits longer for a command line than those who call it in a loop.
 */
export class Wire {
  readonly #open: Open;
  readonly #host: string;
  readonly #all = new Set<Connection>();
  #idle: Connection[] = [];

  constructor(open: Open, host: string) {
    this.#open = open;
    this.#host = host;
  }

  async request({ method, path, headers, body, signal, connectTimeout }: WireRequest): Promise<WireReply> {
    signal?.throwIfAborted();
    const connection = this.#idle.pop() ?? this.#connect(connectTimeout);
    const abort = () => connection.end(signal!.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      let head = `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n`;
      for (const [name, value] of Object.entries(headers)) head += `${name}: ${headerText(name, value)}\r\n`;
      const isWhole = body === undefined || Buffer.isBuffer(body);
      connection.send(Buffer.from(`${head}\r\n`, 'latin1'), isWhole ? body : undefined);
      const sending = isWhole ? undefined : connection.sendChunks(body);
      const { status, headers: received } = await connection.head();
      // A server that refuses it does so before it has all.
      const isSent = sending === undefined || sending.isOver();
      const keep = isSent && received['connection']?.toLowerCase() !== 'close';
      const done = (whole: boolean): void => {
        signal?.removeEventListener('abort', abort);
        if (whole && keep) this.#idle.push(connection);
        else connection.end();
      };
      return { status, headers: received, body: bodyOf(connection, status, received, done) };
    } catch (error) {
      signal?.removeEventListener('abort', abort);
      connection.end();
      const isOwn = signal?.aborted || error instanceof TypeError;
      throw connection.wasOpen || isOwn ? error : new Unsent(error as Error);
    }
  }

  close(): void {
    for (const connection of this.#all) connection.end();
  }

  #connect(timeout: number | undefined): Connection {
    const closed = (): void => {
      this.#all.delete(connection);
      this.#idle = this.#idle.filter((each) => each !== connection);
    };
    const connection = new Connection(this.#open, closed, timeout);
    this.#all.add(connection);
    return connection;
  }
}

/** What would begin a header of its own is refused. */
function headerText(name: string, value: string | number): string {
  const text = String(value);
  if (/[^\t -~\u0080-\u00ff]/.test(text)) throw new TypeError(`The header ${name} cannot have the value it was given.`);
  return text;
}

/** A connection whose bytes are read when they are wanted. */
class Connection {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #replies = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;
  #wasOpen = false;

  constructor(open: Open, closed: () => void, timeout: number | undefined) {
    const late = timeout === undefined ? undefined : setTimeout(() => this.end(timedOut()), timeout);
    const ended = (error?: Error): void => {
      clearTimeout(late);
      this.#error ??= error;
      this.#isEnded = true;
      closed();
      this.#wake?.();
    };
    this.#socket = open();
    // What is written before that is kept until then.
    this.#socket.once('encrypted' in this.#socket ? 'secureConnect' : 'connect', () => {
      clearTimeout(late);
      this.#wasOpen = true;
    });
    this.#socket.on('readable', () => {
      this.#replies = true;
      this.#wake?.();
    });
    this.#socket.on('end', () => ended());
    this.#socket.on('error', ended);
    this.#socket.on('close', () => ended());
  }

  /** Whether it was made, so that something may have been sent. */
  get wasOpen(): boolean {
    return this.#wasOpen;
  }

  send(head: Buffer, body: Buffer | undefined): void {
    // Of the request before, on a connection that was kept.
    this.#replies = false;
    this.#socket.write(body ? Buffer.concat([head, body]) : head);
  }

  /** Sends a body in chunks until it ends, or the reply has begun. What goes wrong with it ends the connection. */
  sendChunks(body: AsyncIterable<Buffer>): { isOver(): boolean } {
    let isOver = false;
    const send = async (): Promise<void> => {
      for await (const piece of body) {
        if (this.#replies || this.#isEnded) return;
        if (piece.length === 0) continue;
        this.#socket.write(`${piece.length.toString(16)}\r\n`);
        this.#socket.write(piece);
        if (!this.#socket.write('\r\n')) await this.#drained();
      }
      this.#socket.write('0\r\n\r\n');
      isOver = true;
    };
    send().catch((error: unknown) => this.end(error as Error));
    return { isOver: () => isOver };
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        this.#socket.off('drain', go).off('close', go).off('readable', go);
        resolve();
      };
      this.#socket.on('drain', go).on('close', go).on('readable', go);
    });
  }

  end(error?: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
    this.#wake?.();
  }

  /** The bytes that came next; undefined when there will be no more. */
  async next(): Promise<Buffer | undefined> {
    if (this.#rest.length > 0) return this.#take(this.#rest.length);
    for (;;) {
      if (this.#error) throw this.#error;
      const chunk = this.#socket.read() as Buffer | null;
      if (chunk) return chunk;
      if (this.#isEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** So many of them at most. */
  async some(most: number): Promise<Buffer> {
    const chunk = (await this.next()) ?? brokenOff();
    if (chunk.length <= most) return chunk;
    this.#rest = chunk.subarray(most);
    return chunk.subarray(0, most);
  }

  /** Up to the end of a line, which is left out. */
  async line(): Promise<string> {
    return (await this.#until('\r\n')).toString('latin1');
  }

  async head(): Promise<Pick<WireReply, 'status' | 'headers'>> {
    for (;;) {
      const [first = '', ...lines] = (await this.#until('\r\n\r\n')).toString('latin1').split('\r\n');
      const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1]);
      if (!status) throw Object.assign(new Error('what answers there does not speak HTTP'), { code: 'EPROTO' });
      // What is said before the reply says nothing to us.
      if (status < 200) continue;
      const headers: Record<string, string> = Object.create(null) as Record<string, string>;
      for (const line of lines) {
        const colon = line.indexOf(':');
        const name = line.slice(0, colon).toLowerCase();
        const value = line.slice(colon + 1).trim();
        headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
      }
      return { status, headers };
    }
  }

  async #until(end: string): Promise<Buffer> {
    let bytes: Buffer = this.#take(this.#rest.length);
    for (let from = 0; ; ) {
      const at = bytes.indexOf(end, from);
      if (at >= 0) {
        this.#rest = bytes.subarray(at + end.length);
        return bytes.subarray(0, at);
      }
      if (bytes.length > mostHead) throw new Error('what answers there sends headers without an end');
      from = Math.max(0, bytes.length - end.length);
      bytes = Buffer.concat([bytes, (await this.next()) ?? brokenOff()]);
    }
  }

  #take(size: number): Buffer {
    const taken = this.#rest.subarray(0, size);
    this.#rest = this.#rest.subarray(size);
    return taken;
  }
}

const timedOut = (): Error => Object.assign(new Error('Connection timed out'), { code: 'ETIMEDOUT' });

function brokenOff(): never {
  throw new Error('the connection broke off before everything had arrived');
}

async function* bodyOf(
  connection: Connection,
  status: number,
  headers: WireReply['headers'],
  done: (whole: boolean) => void,
): AsyncGenerator<Buffer, void> {
  let whole = false;
  try {
    if (status === 204 || status === 304) whole = true;
    else if (headers['transfer-encoding']?.toLowerCase().includes('chunked')) {
      for (;;) {
        const size = Number.parseInt(await connection.line(), 16);
        if (!(size >= 0)) brokenOff();
        yield* exactly(connection, size);
        if (size > 0) await connection.line();
        else break;
      }
      while ((await connection.line()) !== '');
      whole = true;
    } else if (headers['content-length'] !== undefined) {
      yield* exactly(connection, Number(headers['content-length']));
      whole = true;
    } else for (let chunk = await connection.next(); chunk; chunk = await connection.next()) yield chunk;
  } finally {
    done(whole);
  }
}

async function* exactly(connection: Connection, size: number): AsyncGenerator<Buffer, void> {
  for (let left = size; left > 0; ) {
    const chunk = await connection.some(left);
    left -= chunk.length;
    yield chunk;
  }
}
