/** What of ASN.1's basic encoding SNMP uses. */

export const tags = {
  integer: 0x02,
  octets: 0x04,
  nothing: 0x05,
  oid: 0x06,
  sequence: 0x30,
  counter: 0x41,
  gauge: 0x42,
  ticks: 0x43,
  counter64: 0x46,
  noObject: 0x80,
  noInstance: 0x81,
  endOfView: 0x82,
  get: 0xa0,
  getNext: 0xa1,
  response: 0xa2,
  set: 0xa3,
  getBulk: 0xa5,
  report: 0xa8,
} as const;

/** The name of a value: a path in the tree of all that can be asked. */
export type Oid = readonly number[];

export function encode(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, piece) => sum + piece.length, 0);
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), ...content]);
}

/** In as few bytes as it takes, as some agents insist. */
export function encodeInteger(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  let at = 0;
  while (at < 3 && bytes[at] === (value < 0 ? 0xff : 0) && bytes[at + 1]! >> 7 === (value < 0 ? 1 : 0)) at++;
  return encode(tags.integer, bytes.subarray(at));
}

export function encodeOid([first = 0, second = 0, ...rest]: Oid): Buffer {
  return encode(tags.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

/** Reads what somebody has sent; throws a RangeError where it is not what it should be. */
export class BerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** The next piece, whatever it is. */
  next(): { readonly tag: number; readonly content: Buffer } {
    const tag = this.#byte();
    let length = this.#byte();
    if (length & 0x80) {
      const size = length & 0x7f;
      if (size === 0 || size > 3) throw new RangeError('a length cannot be read');
      length = 0;
      for (let i = 0; i < size; i++) length = length * 256 + this.#byte();
    }
    const content = this.#bytes.subarray(this.#at, this.#at + length);
    if (content.length < length) throw new RangeError('it breaks off');
    this.#at += length;
    return { tag, content };
  }

  /** The content of the next piece, which must have the tag. */
  expect(tag: number): Buffer {
    const { tag: found, content } = this.next();
    if (found !== tag) throw new RangeError(`there is ${found} where ${tag} should be`);
    return content;
  }

  inside(tag: number): BerReader {
    return new BerReader(this.expect(tag));
  }

  integer(): number {
    return decodeInteger(this.expect(tags.integer));
  }

  /** All that is left, as it is. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new RangeError('it breaks off');
    return byte;
  }
}

export function decodeInteger(content: Buffer): number {
  if (content.length === 0 || content.length > 5) throw new RangeError('a number has no or too many bytes');
  return content.readIntBE(0, content.length);
}

const longestOid = 128;

export function decodeOid(content: Buffer): number[] {
  const [first = 0, ...rest] = content;
  const oid = [Math.min(2, Math.floor(first / 40))];
  oid.push(first - oid[0]! * 40);
  let number = 0;
  for (const byte of rest) {
    number = number * 128 + (byte & 0x7f);
    if (number > 0xffff_ffff) throw new RangeError('a name has too large a number');
    if (byte & 0x80) continue;
    oid.push(number);
    number = 0;
    if (oid.length > longestOid) throw new RangeError('a name is too long');
  }
  return oid;
}

/** A value and its name. */
export interface Binding {
  readonly oid: readonly number[];
  readonly tag: number;
  readonly content: Buffer;
}

/** What is asked for: names alone, or values to set. */
export interface Request {
  readonly tag: number;
  /** Of GetBulk: how many rows. */
  readonly repetitions?: number;
  readonly bindings: readonly { readonly oid: Oid; readonly value?: Buffer }[];
}

export interface Response {
  readonly tag: number;
  readonly id: number;
  /** 0: all is well. */
  readonly error: number;
  readonly bindings: readonly Binding[];
}

const nothing = encode(tags.nothing);

export const encodeRequest = (id: number, { tag, repetitions = 0, bindings }: Request): Buffer =>
  encode(
    tag,
    encodeInteger(id),
    encodeInteger(0),
    encodeInteger(repetitions),
    encode(tags.sequence, ...bindings.map(({ oid, value = nothing }) => encode(tags.sequence, encodeOid(oid), value))),
  );

export function decodeResponse(reader: BerReader): Response {
  const { tag, content } = reader.next();
  if (tag !== tags.response && tag !== tags.report) throw new RangeError('it is no response');
  const body = new BerReader(content);
  const id = body.integer();
  const error = body.integer();
  body.integer();
  const list = body.inside(tags.sequence);
  const bindings: Binding[] = [];
  while (!list.isAtEnd) {
    const binding = list.inside(tags.sequence);
    bindings.push({ oid: decodeOid(binding.expect(tags.oid)), ...binding.next() });
  }
  return { tag, id, error, bindings };
}

export const versions = { '1': 0, '2c': 1, '3': 3 } as const;

export const encodeCommunityMessage = (version: number, community: string, pdu: Buffer): Buffer =>
  encode(tags.sequence, encodeInteger(version), encode(tags.octets, Buffer.from(community)), pdu);

/** Throws a RangeError where the message is of another version. What community it names makes no difference. */
export function decodeCommunityMessage(bytes: Buffer, version: number): Response {
  const message = new BerReader(bytes).inside(tags.sequence);
  if (message.integer() !== version) throw new RangeError('it is of another version');
  message.expect(tags.octets);
  return decodeResponse(message);
}
