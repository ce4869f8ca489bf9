import { Fault } from '../core/errors.ts';

const maximumDepth = 32;

const quote = 0x22;
const backslash = 0x5c;
export const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

/** Follows a JSON text, piece by piece, as far as strings and brackets go; nesting is bounded before anything is built. */
export class JsonScan {
  /** Commas outside strings: so many members and elements there are, about. */
  commas = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /**
   * Goes on at `from`. Stops at a comma between members of the outermost object or array, if it stands at `earliest` or behind, and
   * at the bracket that closes it; returns that position, or -1 at the end of the piece.
   */
  next(bytes: Buffer, from: number, earliest: number): number {
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
        if (depth === 1 && i >= earliest) {
          stop = i;
          break;
        }
      } else if (byte === openBracket || byte === openBrace) {
        if (++depth > maximumDepth)
          throw new Fault('too-large', `The body is nested deeper than ${maximumDepth} levels.`);
      } else if ((byte === closeBracket || byte === closeBrace) && --depth === 0) {
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
