import { Fault } from '../errors.ts';

const block = 512;
/** Bytes of a header that says more about the next member, such as a long name. */
const longestNote = 64 * 1024;

/** A member of an archive that somebody else made. */
export interface TarEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'other';
  /** The letter of its type. */
  readonly type: string;
  readonly size: number;
  /** Its bytes, which must be read before the next member is asked for, or are skipped then. */
  content(): AsyncIterable<Buffer>;
}

/** Reads an archive member by member, and nothing but what its headers say is there. */
export async function* readTar(source: AsyncIterable<Uint8Array>, what: string, most: number): AsyncIterable<TarEntry> {
  const bytes = new Bytes(source, what);
  let note: { path?: string; size?: number } = {};
  let count = 0;
  for (;;) {
    const head = await bytes.take(block);
    if (head === undefined) throw new Fault('invalid', `${what} ends in the middle: it is cut off.`);
    if (head.every((byte) => byte === 0)) return;
    if (++count > most) throw new Fault('invalid', `${what} has more than ${most} members.`);
    checkSum(head, what);
    const type = String.fromCharCode(head[156]! || 0x30);
    const size = note.size ?? number(head, 124, 12, what);
    if ('xLg'.includes(type)) {
      const own = number(head, 124, 12, what);
      if (own > longestNote) throw new Fault('invalid', `${what}: a header of ${own} bytes is too long.`);
      const body = await bytes.exactly(own + padding(own));
      if (type === 'x') note = { ...note, ...pax(body.subarray(0, own), what) };
      else if (type === 'L') note = { ...note, path: text(body.subarray(0, own)) };
      continue;
    }
    let left = size + padding(size);
    let rest = size;
    const name = note.path ?? nameIn(head);
    note = {};
    const kind = type === '0' ? 'file' : type === '5' ? 'directory' : 'other';
    yield {
      name,
      kind,
      type,
      size,
      async *content() {
        while (rest > 0) {
          const chunk = await bytes.some(rest);
          rest -= chunk.length;
          left -= chunk.length;
          yield chunk;
        }
      },
    };
    while (left > 0) left -= (await bytes.some(left)).length;
  }
}

/** The name of a member as a relative path without detours; undefined for one that leads elsewhere. */
export function memberPath(name: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (name.startsWith('/') || /[\x00-\x1f\x7f\\]/.test(name)) return undefined;
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? undefined : parts.join('/');
}

const padding = (size: number): number => (block - (size % block)) % block;

function text(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.subarray(0, end < 0 ? bytes.length : end).toString();
}

function nameIn(head: Buffer): string {
  const name = text(head.subarray(0, 100));
  const isUstar = head.subarray(257, 263).toString('latin1') === 'ustar\0';
  const prefix = isUstar ? text(head.subarray(345, 500)) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

function number(head: Buffer, at: number, length: number, what: string): number {
  const field = head.subarray(at, at + length);
  if (field[0]! & 0x80) {
    // Larger numbers than octal digits hold are written as bytes.
    const value = BigInt(`0x${field.subarray(4).toString('hex')}`);
    if (field.subarray(1, 4).some((byte) => byte !== 0) || value > BigInt(Number.MAX_SAFE_INTEGER))
      throw new Fault('invalid', `${what}: a size is too large.`);
    return Number(value);
  }
  const digits = field
    .toString('latin1')
    .replace(/[\0 ]+$/, '')
    .trim();
  if (!/^[0-7]*$/.test(digits)) throw new Fault('invalid', `${what} is not a tar archive: a number in it is none.`);
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

function checkSum(head: Buffer, what: string): void {
  const said = number(head, 148, 8, what);
  let sum = 8 * 0x20;
  for (let at = 0; at < block; at++) if (at < 148 || at >= 156) sum += head[at]!;
  if (sum !== said) throw new Fault('invalid', `${what} is not a tar archive, or it is damaged.`);
}

function pax(body: Buffer, what: string): { path?: string; size?: number } {
  const found: { path?: string; size?: number } = {};
  for (let at = 0; at < body.length; ) {
    const blank = body.indexOf(0x20, at);
    const length = Number(body.subarray(at, blank).toString('latin1'));
    if (blank < 0 || !Number.isInteger(length) || length <= blank - at || at + length > body.length)
      throw new Fault('invalid', `${what} is damaged: a header cannot be read.`);
    const record = body.subarray(blank + 1, at + length - 1).toString();
    const mark = record.indexOf('=');
    const [key, value] = [record.slice(0, mark), record.slice(mark + 1)];
    if (key === 'path') found.path = value;
    if (key === 'size') {
      if (!/^\d{1,15}$/.test(value)) throw new Fault('invalid', `${what}: a size cannot be read.`);
      found.size = Number(value);
    }
    at += length;
  }
  return found;
}

class Bytes {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #what: string;
  #kept: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>, what: string) {
    this.#source = source[Symbol.asyncIterator]();
    this.#what = what;
  }

  /** Exactly that many; undefined at the end. */
  async take(length: number): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    let have = 0;
    while (have < length) {
      if (this.#kept.length === 0 && !(await this.#more())) {
        if (have === 0) return undefined;
        throw this.#cut();
      }
      const piece = this.#kept.subarray(0, length - have);
      this.#kept = this.#kept.subarray(piece.length);
      pieces.push(piece);
      have += piece.length;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  async exactly(length: number): Promise<Buffer> {
    if (length === 0) return Buffer.alloc(0);
    const bytes = await this.take(length);
    if (bytes === undefined) throw this.#cut();
    return bytes;
  }

  /** At least one, at most that many. */
  async some(most: number): Promise<Buffer> {
    if (this.#kept.length === 0 && !(await this.#more())) throw this.#cut();
    const piece = this.#kept.subarray(0, most);
    this.#kept = this.#kept.subarray(piece.length);
    return piece;
  }

  async #more(): Promise<boolean> {
    for (;;) {
      const next = await this.#source.next();
      if (next.done) return false;
      if (next.value.length > 0) {
        this.#kept = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length);
        return true;
      }
    }
  }

  #cut(): Fault {
    return new Fault('invalid', `${this.#what} ends in the middle: it is cut off.`);
  }
}
