import { Fault } from '../../core/errors.ts';

const maximumDepth = 32;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Follows a JSON text, piece by piece, as far as strings and brackets go; nesting is bounded before anything is built. */
class JsonScan {
  /** Commas outside strings: so many members and elements there are, about. */
  commas = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /**
   * Goes on at `from`. Stops at a comma between members or elements of that level, if it stands at `earliest` or behind, and at the bracket
   * that closes them; on the outermost level also at one that opens an array. Returns that position, or -1 at the end of the piece.
   */
  next(bytes: Buffer, from: number, earliest: number, level: 1 | 2 = 1): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let commas = this.commas;
    let i = from;
    if (this.#escaped && i < bytes.length) {
      this.#escaped = false;
      i++;
    }
    let stop = -1;
    for (; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (inString) {
        if (byte === backslash) i++;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (byte === comma) {
        commas++;
        if (depth === level && i >= earliest) {
          stop = i;
          break;
        }
      } else if (byte === openBracket || byte === openBrace) {
        if (++depth > maximumDepth)
          throw new Fault('too-large', `The body is nested deeper than ${maximumDepth} levels.`);
        if (byte === openBracket && depth === 2 && level === 1) {
          stop = i;
          break;
        }
      } else if ((byte === closeBracket || byte === closeBrace) && --depth < level) {
        stop = i;
        break;
      }
    }
    this.#escaped = inString && i > bytes.length;
    this.#depth = depth;
    this.#inString = inString;
    this.commas = commas;
    return stop;
  }
}

/** Bytes that come in pieces, however small, in one place. */
export class GatheredBytes {
  #buffer: Buffer = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Good until `clear`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  add(piece: Buffer): void {
    const size = this.#size + piece.length;
    if (size > this.#buffer.length) {
      // Twice as much as before, so that many small pieces are not copied over and over.
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#size);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#size);
    this.#size = size;
  }

  clear(): void {
    this.#size = 0;
  }
}

/** A mark of the byte order is not passed over, since it may stand at the beginning of the whole text only. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

interface ParsedBody {
  readonly members: Record<string, unknown>;
  /** About how many members and elements it has at any level. */
  readonly values: number;
  /** Some object in it names a member twice. */
  readonly repeats: boolean;
}

/** A short body as a JSON object. An absent one is an empty object. */
export function parseBody(bytes: Buffer): ParsedBody {
  if (bytes.length === 0) return { members: {}, values: 0, repeats: false };
  const values = countValues(bytes);
  const isMarked = bytes[0] === byteOrderMark[0] && bytes.subarray(0, 3).equals(byteOrderMark);
  const members = parseJson(decodeUtf8(isMarked ? bytes.subarray(3) : bytes), '');
  if (members === null || typeof members !== 'object' || Array.isArray(members)) throw noObject();
  return { members: members as Record<string, unknown>, values, repeats: commasIn(members) < values };
}

/** Commas that the value is written with: where the text has more, something was named twice, and only one of both is left. */
function commasIn(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  const inside: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let commas = Math.max(0, inside.length - 1);
  for (const each of inside) if (typeof each === 'object') commas += commasIn(each);
  return commas;
}

export const repeatedMember = (): Fault =>
  new Fault('malformed', 'The body names a member twice in one object, and only one of them could count.');

function countValues(bytes: Buffer): number {
  const scan = new JsonScan();
  for (let at = -1; (at = scan.next(bytes, at + 1, bytes.length)) >= 0; );
  return scan.commas;
}

/** `where` says which part of the body it is. */
function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The engine's message goes on with a piece of the text, which may be a password.
    const [reason = ''] = (error as Error).message.split(/, (?:\.\.\.)?"/, 1);
    throw notJson(where === '' ? reason : `${reason.replace(/ at position \d+.*$/, '')} ${where}`);
  }
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Fault('malformed', 'The body is not UTF-8 text.');
  }
}

const notJson = (reason: string): Fault => new Fault('malformed', `The body is not JSON: ${reason}.`);

const noObject = (): Fault =>
  new Fault('malformed', 'The body must be a JSON object such as {"groups":"all"}.', {
    reference: ['put or post data must be a json object (hash/dict).'],
  });

/** Bytes of members or elements that are parsed together: enough to be fast, few enough to be done in a moment. */
const usualPiece = 16_384;

export const memberLimits = {
  /** Bytes of one member, or of one element of an array that is a member, about: parsing it cannot be interrupted. */
  bytes: 1_048_576,
  /** Members of the body itself. */
  names: 100_000,
  /** Members and elements at any level. */
  values: 2_000_000,
};

/**
 * Parses a long JSON object while it comes, a few members at a time, or a few elements of a member that is an array, so that its text is not
 * kept and others are not held up. It takes what JSON.parse takes, and the same comes out.
 */
export class MemberParser {
  readonly #scan = new JsonScan();
  readonly #piece = new GatheredBytes();
  readonly #members: Record<string, unknown> = {};
  #names = 0;
  #place: 'before' | 'inside' | 'behind array' | 'behind' = 'before';
  /** The member whose elements come. */
  #array: unknown[] | undefined;
  /** Bytes before the chunk that is looked at. */
  #seen = 0;
  #marks = 0;
  /** Where the piece begins in the body. */
  #start = 0;
  #isFirst = true;
  /** Commas that what was parsed is written with, but for those between members of the body. */
  #commas = 0;
  #isRepeated = false;

  /** Members and elements at any level so far, about. */
  get values(): number {
    return this.#scan.commas;
  }

  /** Some object in it, as far as it has come, names a member twice. */
  get repeats(): boolean {
    return this.#isRepeated || this.#commas + Math.max(0, this.#names - 1) < this.values;
  }

  add(chunk: Buffer): void {
    let at = this.#place === 'before' ? this.#begin(chunk) : 0;
    while (this.#place !== 'behind' && at < chunk.length)
      at = this.#place === 'inside' ? this.#goOn(chunk, at) : this.#leaveArray(chunk, at);
    if (this.#place === 'behind' && !chunk.subarray(at).every(isBlank)) throw notJson('something follows its end');
    this.#seen += chunk.length;
    if (this.values > memberLimits.values) throw tooLarge(`has more than ${memberLimits.values} members and elements`);
  }

  end(): Record<string, unknown> {
    if (this.#place !== 'behind') throw notJson('it ends too early');
    return this.#members;
  }

  /** Passes over what may stand before the object; returns the position behind its brace. */
  #begin(chunk: Buffer): number {
    for (const [at, byte] of chunk.entries()) {
      if (byte === byteOrderMark[this.#seen + at] && this.#marks === this.#seen + at) this.#marks++;
      else if (!isBlank(byte)) {
        if (byte !== openBrace || this.#marks % byteOrderMark.length !== 0) throw noObject();
        this.#scan.next(chunk.subarray(0, at + 1), at, at + 1);
        this.#place = 'inside';
        this.#start = this.#seen + at + 1;
        return at + 1;
      }
    }
    return chunk.length;
  }

  /** Takes what belongs to the piece, and parses it if that is all; returns the position behind it. */
  #goOn(chunk: Buffer, from: number): number {
    const stop = this.#scan.next(chunk, from, this.#start + usualPiece - this.#seen, this.#array ? 2 : 1);
    this.#piece.add(chunk.subarray(from, stop < 0 ? chunk.length : stop));
    if (this.#piece.size > memberLimits.bytes + usualPiece)
      throw tooLarge(`has ${this.#array ? 'an element' : 'a member'} of more than ${memberLimits.bytes} bytes`);
    if (stop < 0) return chunk.length;
    if (this.#array) this.#takeElements(this.#array, chunk[stop]!);
    else this.#takeMembers(chunk[stop]!);
    this.#piece.clear();
    this.#isFirst = false;
    this.#start = this.#seen + stop + 1;
    return stop + 1;
  }

  /** `end` is what stands behind them. */
  #takeMembers(end: number): void {
    const opensArray = end === openBracket;
    const isLast = !opensArray && end !== comma;
    if (isLast && end !== closeBrace) throw notJson(`Unexpected "]" ${this.#where()}`);
    const text = `{${decodeUtf8(this.#piece.bytes)}${opensArray ? '[]' : ''}}`;
    const members = parseJson(text, this.#where()) as Record<string, unknown>;
    const names = Object.keys(members);
    if (names.length === 0 && !(isLast && this.#isFirst)) throw notJson(`Unexpected "," ${this.#where()}`);
    for (const name of names) {
      this.#commas += commasIn(members[name]);
      this.#isRepeated ||= Object.hasOwn(this.#members, name);
      // Assigning to this one would do something else.
      if (name === '__proto__') define(this.#members, name, members[name]);
      else this.#members[name] = members[name];
    }
    this.#names += names.length;
    if (this.#names > memberLimits.names) throw tooLarge(`has more than ${memberLimits.names} members`);
    // There is no other: each begins a piece of its own.
    if (opensArray) this.#array = Object.values(members).find((value) => Array.isArray(value));
    if (isLast) this.#place = 'behind';
  }

  #takeElements(array: unknown[], end: number): void {
    const isLast = end !== comma;
    if (isLast && end !== closeBracket) throw notJson(`Unexpected "}" ${this.#where()}`);
    const elements = parseJson(`[${decodeUtf8(this.#piece.bytes)}]`, this.#where()) as unknown[];
    if (elements.length === 0 && !(isLast && array.length === 0)) throw notJson(`Unexpected "," ${this.#where()}`);
    this.#commas += commasIn(elements) + (isLast ? 0 : 1);
    for (const each of elements) array.push(each);
    if (!isLast) return;
    this.#array = undefined;
    this.#place = 'behind array';
  }

  /** Finds what follows an array; returns the position behind it. */
  #leaveArray(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length && isBlank(chunk[at]!)) at++;
    if (at === chunk.length) return at;
    this.#start = this.#seen + at + 1;
    this.#scan.next(chunk.subarray(0, at + 1), at, at);
    if (chunk[at] === comma) this.#place = 'inside';
    else if (chunk[at] === closeBrace) this.#place = 'behind';
    else throw notJson(`Something follows an array ${this.#where()}`);
    return at + 1;
  }

  #where(): string {
    return `between bytes ${this.#start} and ${this.#start + this.#piece.size}`;
  }
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const define = (object: object, name: string, value: unknown): void => {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
};

const tooLarge = (what: string): Fault => new Fault('too-large', `The body ${what}.`);
