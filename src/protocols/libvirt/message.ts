import { garbled } from './faults.ts';
import { longestMessage } from './limits.ts';

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

/** A message as it goes over the wire. Its length counts the word that tells it. */
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
