import { Fault } from '../core/errors.ts';
import { byteOrderMark, commasIn, decodeUtf8, noObject, notJson, parseJson } from './body.ts';
import { GatheredBytes } from './gathered-bytes.ts';
import { closeBrace, comma, JsonScan, openBrace } from './json-scan.ts';

/** Bytes of members that are parsed together: enough to be fast, few enough to be done in a moment. */
const usualPiece = 16_384;

export const memberLimits = {
  /** Bytes of one member, about: parsing it cannot be interrupted. */
  bytes: 1_048_576,
  /** Members of the body itself. */
  names: 100_000,
  /** Members and elements at any level. */
  values: 2_000_000,
};

/**
 * Parses a long JSON object while it comes, a few members at a time, so that its text is not kept and others are not held up. It
 * takes what JSON.parse takes, and the same comes out.
 */
export class MemberParser {
  readonly #scan = new JsonScan();
  readonly #piece = new GatheredBytes();
  readonly #members: Record<string, unknown> = {};
  #names = 0;
  #place: 'before' | 'inside' | 'behind' = 'before';
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
    while (this.#place === 'inside' && at < chunk.length) at = this.#goOn(chunk, at);
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
    const stop = this.#scan.next(chunk, from, this.#start + usualPiece - this.#seen);
    this.#piece.add(chunk.subarray(from, stop < 0 ? chunk.length : stop));
    if (this.#piece.size > memberLimits.bytes + usualPiece)
      throw tooLarge(`has a member of more than ${memberLimits.bytes} bytes`);
    if (stop < 0) return chunk.length;
    const isLast = chunk[stop] !== comma;
    if (isLast && chunk[stop] !== closeBrace) throw notJson(`Unexpected "]" ${this.#where()}`);
    this.#takeMembers(isLast);
    if (isLast) this.#place = 'behind';
    this.#piece.clear();
    this.#isFirst = false;
    this.#start = this.#seen + stop + 1;
    return stop + 1;
  }

  #takeMembers(isLast: boolean): void {
    const members = parseJson(`{${decodeUtf8(this.#piece.bytes)}}`, this.#where()) as Record<string, unknown>;
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
