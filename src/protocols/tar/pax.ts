import { TarError } from './entry.ts';

/** What extended headers say: the last value of each name, and pieces of sparse files, whose names repeat. */
export interface Extended {
  readonly values: ReadonlyMap<string, Buffer>;
  /** GNU.sparse.offset and .numbytes in turn. */
  readonly sparseNumbers: readonly Buffer[];
}

export const nothingExtended: Extended = { values: new Map(), sparseNumbers: [] };

const repeated = new Set(['GNU.sparse.offset', 'GNU.sparse.numbytes']);

/** Records "LENGTH NAME=VALUE\n", LENGTH counting the bytes of all of it. An empty value takes back what a global header said. */
export function parsePax(bytes: Buffer): Extended {
  const values = new Map<string, Buffer>();
  const sparseNumbers: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const blank = bytes.indexOf(0x20, at);
    const length = blank === -1 ? undefined : decimal(bytes.subarray(at, blank));
    const end = at + (length ?? 0);
    const equals = blank === -1 ? -1 : bytes.indexOf(0x3d, blank);
    if (length === undefined || end > bytes.length || bytes[end - 1] !== 0x0a || equals === -1 || equals >= end)
      throw new TarError('an extended header is malformed');
    const name = bytes.toString('latin1', blank + 1, equals);
    const value = bytes.subarray(equals + 1, end - 1);
    if (repeated.has(name)) sparseNumbers.push(value);
    else values.set(name, value);
    at = end;
  }
  return { values, sparseNumbers };
}

/** What comes later wins. */
export const joined = (global: Extended, own: Extended): Extended =>
  global === nothingExtended
    ? own
    : { values: new Map([...global.values, ...own.values]), sparseNumbers: own.sparseNumbers };

/** A whole number in decimal digits; undefined if it is none that can be counted with. */
export function decimal(bytes: Buffer): number | undefined {
  const text = bytes.toString('latin1');
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

export function decimalOf(bytes: Buffer, what: string): number {
  const value = decimal(bytes);
  if (value === undefined) throw new TarError(`an extended header has a ${what} that is no number`);
  return value;
}

/** Seconds, with a fraction perhaps, and before 1970 perhaps. */
export function seconds(bytes: Buffer): number {
  const text = bytes.toString('latin1');
  if (!/^-?[0-9]{1,12}(\.[0-9]{0,18})?$/.test(text))
    throw new TarError('an extended header has a time that is no number');
  return Number(text);
}
