import { Fault } from '../../../core/errors.ts';

/** SSH File Transfer Protocol, version 3 (draft-ietf-secsh-filexfer-02), as OpenSSH speaks it. */
export const requests = {
  init: 1,
  open: 3,
  close: 4,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  extended: 200,
} as const;

export const answers = { version: 2, status: 101 } as const;

export const openFlags = { write: 0x02, create: 0x08, exclusive: 0x20 } as const;

/** Names are bytes on the node; a string stands for its UTF-8. */
export type RemotePath = string | Buffer;

export interface Attributes {
  readonly size?: number | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** With the bits that give the kind of file. */
  readonly mode?: number | undefined;
  /** Seconds. */
  readonly accessed?: number | undefined;
  readonly modified?: number | undefined;
}

export const fileKinds = { directory: 0o040000, regular: 0o100000, link: 0o120000 } as const;

/** One of `fileKinds` or another; 0 for what is not there. */
export const kindOf = (found: Attributes | undefined): number => (found?.mode ?? 0) & 0o170000;

/** There is nothing before 1970 and after 2106. */
const time = (seconds: number): number => Math.min(Math.max(seconds, 0), 0xffff_ffff);

/** Puts together a request: length, type and id are filled in by the session. */
export class RequestWriter {
  #parts: Buffer[] = [];

  bytes(value: RemotePath): this {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    return this.word(bytes.length).raw(bytes);
  }

  word(value: number): this {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeUInt32BE(value >>> 0);
    return this.raw(bytes);
  }

  long(value: number): this {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return this.raw(bytes);
  }

  attributes({ uid, gid, mode, accessed, modified }: Attributes): this {
    const owner = uid !== undefined && gid !== undefined;
    const times = accessed !== undefined && modified !== undefined;
    this.word((owner ? 2 : 0) | (mode === undefined ? 0 : 4) | (times ? 8 : 0));
    if (owner) this.word(uid).word(gid);
    if (mode !== undefined) this.word(mode & 0o7777);
    if (times) this.word(time(accessed)).word(time(modified));
    return this;
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  packet(type: number, id: number): Buffer {
    const head = Buffer.allocUnsafe(9);
    const length = this.#parts.reduce((sum, part) => sum + part.length, 5);
    head.writeUInt32BE(length, 0);
    head.writeUInt8(type, 4);
    head.writeUInt32BE(id, 5);
    return Buffer.concat([head, ...this.#parts], length + 4);
  }
}

/** Reads an answer; one that is shorter than it says is a Fault. */
export class AnswerReader {
  readonly type: number;
  readonly #bytes: Buffer;
  #at = 5;

  /** `bytes` begin with the type and the id. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.type = bytes.readUInt8(0);
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length;
  }

  word(): number {
    return this.#bytes.readUInt32BE(this.#next(4));
  }

  long(): number {
    return Number(this.#bytes.readBigUInt64BE(this.#next(8)));
  }

  bytes(): Buffer {
    const length = this.word();
    const start = this.#next(length);
    return this.#bytes.subarray(start, start + length);
  }

  attributes(): Attributes {
    const flags = this.word();
    const size = flags & 1 ? this.long() : undefined;
    const [uid, gid] = flags & 2 ? [this.word(), this.word()] : [];
    const mode = flags & 4 ? this.word() : undefined;
    const [accessed, modified] = flags & 8 ? [this.word(), this.word()] : [];
    if (flags & 0x8000_0000) {
      for (let left = this.word(); left > 0; left--) {
        this.bytes();
        this.bytes();
      }
    }
    return { size, uid, gid, mode, accessed, modified };
  }

  /** Where the next so many bytes begin. */
  #next(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length)
      throw new Fault('garbled', 'its SFTP server sent an answer that is shorter than it says.');
    this.#at += length;
    return start;
  }
}
