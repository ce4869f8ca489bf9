import type { IpmiResponse } from './link.ts';

/** IPMI 2.0 13.8: addresses of the service processor and of a remote console. */
const responder = 0x20;
const requester = 0x81;

/** Bytes of a request around its data. */
export const requestOverhead = 7;
const shortestResponse = 8;

function checksum(bytes: Buffer, start: number, end: number): number {
  let sum = 0;
  for (let index = start; index < end; index++) sum += bytes[index] ?? 0;
  return -sum & 0xff;
}

/** Writes a request at an offset and returns where it ends. */
export function writeRequest(
  target: Buffer,
  offset: number,
  netfn: number,
  command: number,
  sequence: number,
  data: Uint8Array | undefined,
): number {
  target[offset] = responder;
  target[offset + 1] = netfn << 2;
  target[offset + 2] = checksum(target, offset, offset + 2);
  target[offset + 3] = requester;
  target[offset + 4] = sequence << 2;
  target[offset + 5] = command;
  let end = offset + 6;
  if (data !== undefined) {
    target.set(data, end);
    end += data.length;
  }
  target[end] = checksum(target, offset + 3, end);
  return end + 1;
}

/** The response in `bytes` if it is intact and answers this request. */
export function readResponse(
  bytes: Buffer,
  netfn: number,
  command: number,
  sequence: number,
): IpmiResponse | undefined {
  const last = bytes.length - 1;
  if (bytes.length < shortestResponse || bytes[0] !== requester || bytes[5] !== command) return undefined;
  if ((bytes[1] ?? 0) >> 2 !== netfn + 1 || (bytes[4] ?? 0) >> 2 !== sequence) return undefined;
  if (checksum(bytes, 0, 2) !== bytes[2] || checksum(bytes, 3, last) !== bytes[last]) return undefined;
  return { code: bytes[6] ?? 0, data: bytes.subarray(7, last) };
}
