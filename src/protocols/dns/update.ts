import { type Ip, parseIp } from '../../core/ip.ts';
import { classIn, classNone, opcodeUpdate, typeCodes } from './codes.ts';
import { headerBytes } from './message.ts';
import { writeLabels, writeName } from './names.ts';

export type RecordType = 'A' | 'AAAA' | 'PTR' | 'CNAME';

/** One record that is to be there or not to be there. */
export interface UpdateOperation {
  readonly remove: boolean;
  readonly name: string;
  readonly type: RecordType;
  /** An address, or a name without a dot at its end. */
  readonly data: string;
}

/** The largest that one operation can be: two names of 255 bytes and the fixed part. */
const largestOperation = 255 + 10 + 255;

/** Leaves room for the signature in the 65,535 bytes of a message over TCP. */
const largestMessage = 65_535 - 512;

export interface Batch {
  readonly message: Buffer;
  /** How many of the operations it took. */
  readonly taken: number;
}

const scratch = Buffer.allocUnsafe(largestMessage);

/**
 * An UPDATE (RFC 2136) of a zone with as many operations as fit and `limit` allows, from `from` on. Removing names the record with its
 * data, so other records of the name and type stay. The id is for the sender to set.
 */
export function updateMessage(
  zone: string,
  operations: readonly UpdateOperation[],
  from: number,
  limit: number,
  ttl: number,
): Batch {
  const bytes = scratch;
  bytes.fill(0, 0, headerBytes);
  bytes[2] = opcodeUpdate << 3;
  let at = writeName(bytes, headerBytes, zone);
  at = bytes.writeUInt16BE(typeCodes.SOA, at);
  at = bytes.writeUInt16BE(classIn, at);
  let taken = 0;
  while (taken < limit && from + taken < operations.length && at + largestOperation <= largestMessage) {
    at = writeOperation(bytes, at, zone, operations[from + taken]!, ttl);
    taken++;
  }
  bytes.writeUInt16BE(1, 4);
  bytes.writeUInt16BE(taken, 8);
  return { message: Buffer.from(bytes.subarray(0, at)), taken };
}

function writeOperation(bytes: Buffer, start: number, zone: string, operation: UpdateOperation, ttl: number): number {
  const { remove, name, type, data } = operation;
  let at = writeOwner(bytes, start, zone, name);
  at = bytes.writeUInt16BE(typeCodes[type], at);
  at = bytes.writeUInt16BE(remove ? classNone : classIn, at);
  at = bytes.writeUInt32BE(remove ? 0 : ttl, at);
  const end = writeData(bytes, at + 2, type, data);
  bytes.writeUInt16BE(end - at - 2, at);
  return end;
}

/** The part in front of the zone and a pointer to the zone's name, which follows the header. */
function writeOwner(bytes: Buffer, at: number, zone: string, name: string): number {
  const front = name.length - zone.length - 1;
  if (front > 0 && name.charCodeAt(front) === 46 && name.endsWith(zone)) {
    return bytes.writeUInt16BE(0xc000 | headerBytes, writeLabels(bytes, at, name, front));
  }
  return name === zone ? bytes.writeUInt16BE(0xc000 | headerBytes, at) : writeName(bytes, at, name);
}

function writeData(bytes: Buffer, at: number, type: RecordType, data: string): number {
  if (type === 'PTR' || type === 'CNAME') return writeName(bytes, at, data);
  const ip = parseIp(data);
  if (!ip || ip.family !== (type === 'A' ? 4 : 6)) throw new Error(`"${data}" is not the data of an ${type} record`);
  return writeAddress(bytes, at, ip);
}

function writeAddress(bytes: Buffer, at: number, { family, value }: Ip): number {
  if (family === 4) return bytes.writeUInt32BE(Number(value), at);
  bytes.writeBigUInt64BE(value >> 64n, at);
  return bytes.writeBigUInt64BE(value & 0xffff_ffff_ffff_ffffn, at + 8);
}

/** A query for the record of a name. */
export function queryMessage(name: string, type: number): Buffer {
  const bytes = Buffer.alloc(headerBytes + 255 + 4);
  let at = writeName(bytes, headerBytes, name);
  at = bytes.writeUInt16BE(type, at);
  at = bytes.writeUInt16BE(classIn, at);
  bytes.writeUInt16BE(1, 4);
  return bytes.subarray(0, at);
}
