import { Fault } from '../../../core/errors.ts';

/** A Fault for an answer that breaks the protocol. */
export function garbled(what: string, data: Uint8Array): Fault {
  const bytes = Buffer.from(data.subarray(0, 24)).toString('hex');
  return new Fault('garbled', `its BMC's answer to ${what} cannot be understood: "${bytes}".`);
}

/** The data if at least this long. */
export function atLeast(data: Buffer, length: number, what: string): Buffer {
  if (data.length < length) throw garbled(what, data);
  return data;
}

/** The byte at this index, 0 beyond the end: for fields that older hardware leaves out. */
export function byteAt(data: Uint8Array, index: number): number {
  return data[index] ?? 0;
}

export function uint16(value: number): [number, number] {
  return [value & 0xff, (value >> 8) & 0xff];
}

/** The number in the low `bits` of value, as two's complement. */
export function signed(value: number, bits: number): number {
  const low = value & (2 ** bits - 1);
  return low >= 2 ** (bits - 1) ? low - 2 ** bits : low;
}

export function hex(value: number): string {
  return `${value.toString(16).toUpperCase().padStart(2, '0')}h`;
}

/** Type/length-coded text of SDR (IPMI 2.0 section 43.15) and FRU records (FRU 1.3 section 13). */
const bcdPlus = '0123456789 -.:,_';

/** Of FRU areas the language decides: text is Latin-1 in English and UTF-16 in all others. */
export type TextCoding = 'sdr' | 'fru' | 'fru-utf16';

function sixBit(data: Uint8Array): string {
  let text = '';
  for (let bit = 0; bit + 6 <= data.length * 8; bit += 6) {
    const word = byteAt(data, bit >> 3) | (byteAt(data, (bit >> 3) + 1) << 8);
    text += String.fromCharCode(((word >> (bit & 7)) & 0x3f) + 0x20);
  }
  return text;
}

function bcd(data: Uint8Array): string {
  let text = '';
  for (const byte of data) text += bcdPlus.charAt(byte >> 4) + bcdPlus.charAt(byte & 0x0f);
  return text;
}

/** Printable characters only, no blanks at the ends: names and serial numbers go into labels and lines. */
function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

const utf16 = (data: Uint8Array): string => Buffer.from(data.subarray(0, data.length & ~1)).toString('utf16le');

/** Type 0 is UTF-16 in SDR records and plain bytes in FRU records; there bytes that are text are taken as text. */
function untyped(data: Uint8Array, coding: TextCoding): string {
  if (coding === 'sdr') return utf16(data);
  if (data.every((byte) => byte >= 0x20 && byte < 0x7f)) return Buffer.from(data).toString('latin1');
  return data.every((byte) => byte === 0) ? '' : Buffer.from(data).toString('hex').toUpperCase();
}

interface Field {
  readonly text: string;
  /** Where the next field starts. */
  readonly next: number;
}

/** The field at this offset; cut at the end of the data. */
export function decodeField(data: Uint8Array, at: number, coding: TextCoding): Field {
  const head = byteAt(data, at);
  const length = head & (coding === 'sdr' ? 0x1f : 0x3f);
  const bytes = data.subarray(at + 1, at + 1 + length);
  const next = at + 1 + length;
  switch (head >> 6) {
    case 0:
      return { text: printable(untyped(bytes, coding)), next };
    case 1:
      return { text: printable(bcd(bytes)), next };
    case 2:
      return { text: printable(sixBit(bytes)), next };
    default:
      return { text: printable(coding === 'fru-utf16' ? utf16(bytes) : Buffer.from(bytes).toString('latin1')), next };
  }
}
