import { isIPv4 } from 'node:net';
import { atLeast, byteAt, uint16 } from './bytes.ts';

/** Values of LAN configuration parameters: IPMI 2.0 table 23-4. */

/** Six bytes as `02:00:00:00:00:01`. */
export function decodeMac(value: Buffer): string {
  const bytes = atLeast(value, 6, 'MAC address').subarray(0, 6);
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

export function decodeIpv4(data: Buffer): string {
  return [...atLeast(data, 4, 'Get LAN Configuration Parameters').subarray(0, 4)].join('.');
}

/** Undefined if the text is no IPv4 address. */
export function encodeIpv4(text: string): Buffer | undefined {
  return isIPv4(text) ? Buffer.from(text.split('.').map(Number)) : undefined;
}

/** A mask is ones, then zeros. */
export function isNetmask(text: string): boolean {
  const bytes = encodeIpv4(text);
  if (bytes === undefined) return false;
  const inverted = ~bytes.readUInt32BE(0) >>> 0;
  return (inverted & (inverted + 1)) === 0;
}

/** Undefined: disabled. */
export function decodeVlan(data: Buffer): number | undefined {
  atLeast(data, 2, 'Get LAN Configuration Parameters');
  return byteAt(data, 1) & 0x80 ? data.readUInt16LE(0) & 0x0fff : undefined;
}

export function encodeVlan(id: number | undefined): Buffer {
  return Buffer.of(...uint16(id === undefined ? 0 : 0x8000 | id));
}

export const maximumCommunity = 18;

export function decodeCommunity(data: Buffer): string {
  const end = data.indexOf(0);
  return data.subarray(0, end < 0 ? maximumCommunity : end).toString('latin1');
}

export function encodeCommunity(text: string): Buffer {
  const data = Buffer.alloc(maximumCommunity);
  data.write(text, 'latin1');
  return data;
}

/** Seconds; the wire counts halves. */
export function decodeArpInterval(data: Buffer): number {
  return byteAt(atLeast(data, 1, 'Get LAN Configuration Parameters'), 0) / 2;
}

export const maximumArpInterval = 127;

export function encodeArpInterval(seconds: number): Buffer {
  return Buffer.of(Math.round(seconds * 2));
}

/** The address traps are sent to; the first byte is the number of the destination. */
export function decodeDestination(data: Buffer): string {
  return decodeIpv4(atLeast(data, 7, 'Get LAN Configuration Parameters').subarray(3));
}

/** By the default gateway, MAC address to be found by ARP. */
export function encodeDestination(number: number, address: Buffer): Buffer {
  return Buffer.concat([Buffer.of(number, 0, 0), address, Buffer.alloc(6)]);
}

/** Platform event trap, not acknowledged, five seconds, no retries. */
export function encodeTrapDestination(number: number): Buffer {
  return Buffer.of(number, 0, 5, 0);
}
