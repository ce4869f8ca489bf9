/** Deeper than any Redfish resource. */
export const maximumDepth = 64;
/** Of one resource: objects, arrays, texts, numbers, words. */
export const maximumValues = 50_000;

/** What a text has too much of. */
export type JsonTooMuch = 'depth' | 'values';

/** Told of every comma and bracket outside texts: its depth, where it is, and how many values came before. */
export type Mark = (byte: number, depth: number, at: number, values: number) => void;

const [quote, backslash] = [0x22, 0x5c];
export const [comma, openList, closeList] = [0x2c, 0x5b, 0x5d];
const [openObject, closeObject] = [0x7b, 0x7d];

/**
 * Goes over the bytes of a JSON text before anything is made of them: every three bytes may be an object. It can stop at any byte
 * and go on later. What is no JSON may pass.
 */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #mostValues: number;
  readonly #mark: Mark | undefined;
  #at = 0;
  #depth = 0;
  #values = 0;
  #quoted = false;

  constructor(bytes: Buffer, mostValues: number, mark?: Mark) {
    this.#bytes = bytes;
    this.#mostValues = mostValues;
    this.#mark = mark;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Over so many bytes more; all of them if it is left out. */
  run(most = Number.POSITIVE_INFINITY): JsonTooMuch | undefined {
    const [bytes, mark] = [this.#bytes, this.#mark];
    const end = Math.min(bytes.length, this.#at + most);
    let [at, depth, values, quoted] = [this.#at, this.#depth, this.#values, this.#quoted];
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (quoted) {
        if (byte === backslash) at++;
        else if (byte === quote) quoted = false;
      } else if (byte === quote) quoted = true;
      else if (byte === comma) {
        mark?.(byte, depth, at, values);
        if (++values > this.#mostValues) return 'values';
      } else if (byte === openObject || byte === openList) {
        mark?.(byte, depth, at, values);
        if (++depth > maximumDepth) return 'depth';
        if (++values > this.#mostValues) return 'values';
      } else if (byte === closeObject || byte === closeList) {
        mark?.(byte, depth, at, values);
        depth--;
      }
    }
    [this.#at, this.#depth, this.#values, this.#quoted] = [at, depth, values, quoted];
    return undefined;
  }
}
