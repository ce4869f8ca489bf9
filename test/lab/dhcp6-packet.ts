import { ipText } from '../../src/core/ip.ts';

export const option6 = (code: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0, code, value.length >> 8, value.length & 255]), value]);

/** The options that a part of a packet consists of, by their codes. */
export function optionsOf(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length; at += 4 + bytes.readUInt16BE(at + 2))
    found.set(bytes.readUInt16BE(at), bytes.subarray(at + 4, at + 4 + bytes.readUInt16BE(at + 2)));
  return found;
}

export const addressText6 = (bytes: Buffer): string =>
  ipText({ family: 6, value: BigInt(`0x${bytes.toString('hex')}`) });
