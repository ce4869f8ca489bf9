import { garbled, LibvirtFault } from './faults.ts';

/** Bytes of a message, its length word included: what current daemons send at most. */
export const longestMessage = 32 * 1024 * 1024 + 4;
/** Bytes of a string. */
export const longestString = 4 * 1024 * 1024;
/** Machines, and pools and volumes, in one list. */
export const longestList = 16_384;
/** Values that one list reports of one machine. */
export const mostParameters = 4_096;
/** Bytes that the two sides of a migration hand to each other through us. */
export const longestCookie = 4 * 1024 * 1024;

export const programs = { remote: 0x20008086, keepalive: 0x6b656570 } as const;
export const messageTypes = { call: 0, reply: 1, event: 2, stream: 3 } as const;
export const statuses = { ok: 0, error: 1, continue: 2 } as const;
/** Of both programs. */
const version = 1;

const lengthWord = 4;
const headerLength = 28;

export interface Header {
  readonly program: number;
  readonly procedure: number;
  readonly type: number;
  readonly serial: number;
  readonly status: number;
}

export interface Message extends Header {
  readonly body: Buffer;
}

const nothing = Buffer.alloc(0);

/** A message as it goes over the wire. Its length counts the word that holds it. */
export function encodeMessage({ program, procedure, type, serial, status }: Header, body: Buffer = nothing): Buffer {
  const bytes = Buffer.alloc(headerLength + body.length);
  [bytes.length, program, version, procedure, type, serial, status].forEach((value, index) =>
    bytes.writeUInt32BE(value, index * lengthWord),
  );
  body.copy(bytes, headerLength);
  return bytes;
}

function decodeMessage(bytes: Buffer): Message {
  const [, program = 0, itsVersion = 0, procedure = 0, type = 0, serial = 0, status = 0] = Array.from(
    { length: headerLength / lengthWord },
    (_, index) => bytes.readUInt32BE(index * lengthWord),
  );
  if (itsVersion !== version) throw garbled(`version ${itsVersion} of its protocol`);
  return { program, procedure, type, serial, status, body: bytes.subarray(headerLength) };
}

/** Makes messages of pieces of a stream. Pieces are put together once, when the last of a message has come. */
export class Framer {
  #pieces: Buffer[] = [];
  #held = 0;
  /** Bytes that are there before anything can be done. */
  #wanted = lengthWord;

  /** The messages that are complete with this piece. After a LibvirtFault nothing more can be made of the stream. */
  *add(piece: Buffer): Generator<Message> {
    this.#pieces.push(piece);
    this.#held += piece.length;
    while (this.#held >= this.#wanted) {
      const bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#held);
      const length = bytes.readUInt32BE(0);
      if (length < headerLength || length > longestMessage) throw garbled(`a message of ${length} bytes`);
      const isComplete = bytes.length >= length;
      const rest = isComplete ? bytes.subarray(length) : bytes;
      this.#pieces = rest.length === 0 ? [] : [rest];
      this.#held = rest.length;
      this.#wanted = isComplete ? lengthWord : length;
      if (isComplete) yield decodeMessage(bytes.subarray(0, length));
    }
  }
}

export type ParameterValue = number | bigint | boolean | string;
export type Parameters = ReadonlyMap<string, ParameterValue>;

/** How values of unlike types are read, by the number of the type. */
const readers: Readonly<Record<number, (body: XdrReader) => ParameterValue>> = {
  1: (body) => body.int(),
  2: (body) => body.uint(),
  3: (body) => body.hyper(),
  4: (body) => body.uhyper(),
  5: (body) => body.double(),
  6: (body) => body.bool(),
  7: (body) => body.string(),
};

export function readParameters(body: XdrReader): Parameters {
  const entries = body.list(mostParameters, (): readonly [string, ParameterValue] => {
    const name = body.string();
    const type = body.int();
    const read = readers[type];
    if (!read) throw garbled(`a value of type ${type}`);
    return [name, read(body)];
  });
  return new Map(entries);
}

const textType = 7;

/** Texts by their names, of which one may have several. */
export const writeTexts = (body: XdrWriter, texts: readonly (readonly [name: string, value: string])[]): XdrWriter =>
  body.list(texts, ([name, value]) => body.string(name).int(textType).string(value));

const word = 4;
const doubleWord = 8;
/** As this many bytes, without a length before them. */
export const uuidLength = 16;

/** Reads XDR (RFC 4506) from the front: whole numbers of big-endian 32-bit words. What is not there is a LibvirtFault. */
export class XdrReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int(): number {
    return this.#bytes.readInt32BE(this.#take(word));
  }

  uint(): number {
    return this.#bytes.readUInt32BE(this.#take(word));
  }

  hyper(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(doubleWord));
  }

  uhyper(): bigint {
    return this.#bytes.readBigUInt64BE(this.#take(doubleWord));
  }

  double(): number {
    return this.#bytes.readDoubleBE(this.#take(doubleWord));
  }

  bool(): boolean {
    const value = this.uint();
    if (value > 1) throw garbled(`${value} where yes or no belongs`);
    return value === 1;
  }

  string(): string {
    const length = this.uint();
    if (length > longestString) throw garbled(`a string of ${length} bytes`);
    const from = this.#take(Math.ceil(length / word) * word);
    return this.#bytes.toString('utf8', from, from + length);
  }

  /** A copy: what a message held longer than it is read would hold all of the message. */
  uuid(): Buffer {
    const from = this.#take(uuidLength);
    return Buffer.from(this.#bytes.subarray(from, from + uuidLength));
  }

  /** Bytes with their number before them; a copy too. */
  data(most: number): Buffer {
    const length = this.uint();
    if (length > most) throw garbled(`${length} bytes of data`);
    const from = this.#take(Math.ceil(length / word) * word);
    return Buffer.from(this.#bytes.subarray(from, from + length));
  }

  optional<T>(read: () => T): T | undefined {
    return this.bool() ? read() : undefined;
  }

  /** Every item takes at least one word, so that no count makes room for more than has come. */
  list<T>(most: number, read: () => T): T[] {
    const count = this.uint();
    if (count > most || count * word > this.left) throw garbled(`a list of ${count}`);
    return Array.from({ length: count }, read);
  }

  #take(length: number): number {
    if (length > this.left) throw garbled('it ends too early');
    const from = this.#at;
    this.#at += length;
    return from;
  }
}

/** Writes XDR (RFC 4506), in the order of the calls. */
export class XdrWriter {
  readonly #pieces: Buffer[] = [];

  int(value: number): this {
    const bytes = Buffer.alloc(word);
    bytes.writeInt32BE(value);
    return this.#add(bytes);
  }

  uint(value: number): this {
    const bytes = Buffer.alloc(word);
    bytes.writeUInt32BE(value);
    return this.#add(bytes);
  }

  uhyper(value: bigint): this {
    const bytes = Buffer.alloc(2 * word);
    bytes.writeBigUInt64BE(value);
    return this.#add(bytes);
  }

  /** Libvirt reads strings as those of C: one with a zero byte would be cut there, so it is refused. */
  string(value: string): this {
    if (value.includes('\0')) throw new LibvirtFault('unfit', 'a text with a zero byte cannot be sent to libvirt.');
    const length = Buffer.byteLength(value);
    if (length > longestString) {
      throw new LibvirtFault(
        'unfit',
        `a text of ${length} bytes is too long for libvirt, which takes ${longestString}.`,
      );
    }
    const bytes = Buffer.alloc(Math.ceil(length / word) * word);
    bytes.write(value);
    return this.uint(length).#add(bytes);
  }

  /** Bytes of a known number, which has to be that of whole words. */
  opaque(bytes: Buffer): this {
    return this.#add(bytes);
  }

  /** Bytes of any number, which is sent before them. */
  data(bytes: Buffer): this {
    const padding = Buffer.alloc((word - (bytes.length % word)) % word);
    return this.uint(bytes.length).#add(bytes).#add(padding);
  }

  optional<T>(value: T | undefined, write: (value: T) => unknown): this {
    if (value === undefined) return this.uint(0);
    this.uint(1);
    write(value);
    return this;
  }

  list<T>(items: readonly T[], write: (item: T) => unknown): this {
    this.uint(items.length);
    for (const item of items) write(item);
    return this;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  #add(bytes: Buffer): this {
    this.#pieces.push(bytes);
    return this;
  }
}
