import { Fault } from '../../../core/errors.ts';

/** A Fault for an answer that breaks the protocol. */
export function garbled(what: string, data: Uint8Array): Fault {
  const bytes = Buffer.from(data.subarray(0, 24)).toString('hex');
  return new Fault('garbled', `its service processor's answer to ${what} cannot be understood: "${bytes}".`);
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
